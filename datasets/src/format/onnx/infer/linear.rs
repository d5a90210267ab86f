//! Products of matrices, sums of products, and recurrent cells.

use std::collections::BTreeMap;

use super::super::call::{Call, Fault, Outputs, misfit};
use super::super::tensor::{Element, Tensor, broadcast};

/// `MatMul`: products of matrices, as many as the leading dimensions say; a vector counts as a row or a column.
pub(in super::super) fn matmul(call: &Call<'_>) -> Outputs {
    let (a, b, element) = match call.node.op_type.as_str() {
        "QLinearMatMul" => (call.input(0)?, call.input(3)?, call.input(7)?.element),
        "MatMulInteger" => (call.input(0)?, call.input(1)?, Element::INT32),
        _ => (call.input(0)?, call.input(1)?, call.input(0)?.element),
    };
    let fault = || misfit(&[&a.shape, &b.shape]);
    let (mut left, mut right) = (a.shape.clone(), b.shape.clone());
    if left.is_empty() || right.is_empty() {
        return Err(fault());
    }
    if a.rank() == 1 {
        left.insert(0, 1);
    }
    if b.rank() == 1 {
        right.push(1);
    }
    let (rows, inner) = (left[left.len() - 2], left[left.len() - 1]);
    let (own, columns) = (right[right.len() - 2], right[right.len() - 1]);
    if inner != own {
        return Err(fault());
    }
    let mut shape = broadcast([&left[..left.len() - 2], &right[..right.len() - 2]]).ok_or_else(fault)?;
    shape.extend((a.rank() > 1).then_some(rows));
    shape.extend((b.rank() > 1).then_some(columns));
    Ok(vec![Tensor::new(element, shape)])
}

/// `Gemm`: a product of two matrices, each transposed if its flag says so.
pub(in super::super) fn gemm(call: &Call<'_>) -> Outputs {
    let (a, b) = (call.input(0)?, call.input(1)?);
    let (&[a_rows, a_columns], &[b_rows, b_columns]) = (&a.shape[..], &b.shape[..]) else {
        return Err(misfit(&[&a.shape, &b.shape]));
    };
    let (rows, inner) = if call.flag("transA", false) { (a_columns, a_rows) } else { (a_rows, a_columns) };
    let (own, columns) = if call.flag("transB", false) { (b_columns, b_rows) } else { (b_rows, b_columns) };
    match inner == own {
        true => Ok(vec![Tensor::new(a.element, vec![rows, columns])]),
        false => Err(misfit(&[&a.shape, &b.shape])),
    }
}

/// `Einsum`: the sizes of its letters, and the letters of its output.
pub(in super::super) fn letters(call: &Call<'_>) -> Result<(BTreeMap<char, u64>, Vec<char>), Fault> {
    let equation: String = call.text("equation").unwrap_or("").chars().filter(|letter| *letter != ' ').collect();
    if equation.contains('.') {
        return Err(Fault::Unknown("its equation has an ellipsis".into()));
    }
    let (left, right) =
        equation.split_once("->").map_or((equation.as_str(), None), |(left, right)| (left, Some(right)));
    let terms: Vec<&str> = left.split(',').collect();
    let inputs: Vec<&Tensor> = call.given().collect();
    let wrong = || Fault::Wrong(format!("has the equation '{equation}', which does not fit its inputs"));
    if terms.len() != inputs.len() {
        return Err(wrong());
    }
    let mut sizes: BTreeMap<char, u64> = BTreeMap::new();
    for (term, input) in terms.iter().zip(&inputs) {
        if term.chars().count() != input.rank() {
            return Err(wrong());
        }
        for (letter, &size) in term.chars().zip(&input.shape) {
            let known = sizes.entry(letter).or_insert(size);
            *known = match (*known, size) {
                (1, other) | (other, 1) => other,
                (one, other) if one == other => one,
                _ => return Err(wrong()),
            };
        }
    }
    let once = |letter: &char| left.chars().filter(|other| other == letter).count() == 1;
    let output: Vec<char> = match right {
        Some(right) => right.chars().collect(),
        None => sizes.keys().copied().filter(once).collect(),
    };
    match output.iter().all(|letter| sizes.contains_key(letter)) {
        true => Ok((sizes, output)),
        false => Err(wrong()),
    }
}

/// `Einsum`.
pub(in super::super) fn einsum(call: &Call<'_>) -> Outputs {
    let (sizes, output) = letters(call)?;
    let shape = output.iter().map(|letter| sizes[letter]).collect();
    Ok(vec![Tensor::new(call.input(0)?.element, shape)])
}

/// `RNN`, `GRU` and `LSTM`: all steps' outputs, and the last states.
pub(in super::super) fn recurrent(call: &Call<'_>) -> Outputs {
    let (input, weights, recurrence) = (call.input(0)?, call.input(1)?, call.input(2)?);
    let (&[first, second, _], &[directions, _, _], &[_, _, hidden]) =
        (&input.shape[..], &weights.shape[..], &recurrence.shape[..])
    else {
        return Err(misfit(&[&input.shape, &weights.shape, &recurrence.shape]));
    };
    let batch_first = call.flag("layout", false);
    let (steps, batch) = if batch_first { (second, first) } else { (first, second) };
    let (all, last) = match batch_first {
        true => (vec![batch, steps, directions, hidden], vec![batch, directions, hidden]),
        false => (vec![steps, directions, batch, hidden], vec![directions, batch, hidden]),
    };
    let mut outputs = vec![Tensor::new(input.element, all), Tensor::new(input.element, last.clone())];
    if call.node.op_type == "LSTM" {
        outputs.push(Tensor::new(input.element, last));
    }
    Ok(outputs)
}
