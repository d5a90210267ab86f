//! Which edges hand over a reference or a handle instead of a value: producer and consumer then share a device.
//!
//! TensorFlow colocates the ends of an edge whose consumer *asks for* a reference (`Assign`, `ApplyAdam`, …) or a resource handle
//! (`ReadVariableOp`, …), transitively. A consumer that asks for a value gets a copy of it wherever it runs, so `SaveV2`, which
//! reads all variables, does not chain them together. The tables are the op definitions of TensorFlow 2.15.

use super::attributes::is_resource;
use super::proto::NodeDef;

/// How many leading inputs of an op are references.
pub(super) fn reference_inputs(op: &str) -> usize {
    let op = op.strip_prefix("Sparse").filter(|rest| rest.starts_with("Apply")).unwrap_or(op);
    match op {
        "ApplyCenteredRMSProp" => 4,
        "ApplyAdam" | "ApplyAdaMax" | "ApplyAdadelta" | "ApplyAdagradDA" | "ApplyRMSProp" => 3,
        "ApplyFtrl" | "ApplyFtrlV2" => 3,
        "ApplyAdagrad" | "ApplyAdagradV2" | "ApplyAddSign" | "ApplyMomentum" | "ApplyPowerSign" => 2,
        "ApplyProximalAdagrad" | "ReaderRead" | "ReaderReadUpTo" => 2,
        "ApplyGradientDescent" | "ApplyProximalGradientDescent" => 1,
        "Assign" | "AssignAdd" | "AssignSub" | "StridedSliceAssign" | "CountUpTo" | "IsVariableInitialized" => 1,
        "DestroyTemporaryVariable" | "RefIdentity" | "RefEnter" | "RefExit" | "RefNextIteration" | "RefSwitch" => 1,
        "ScatterAdd" | "ScatterSub" | "ScatterMul" | "ScatterDiv" | "ScatterMin" | "ScatterMax" | "ScatterUpdate" => 1,
        "ScatterNdAdd" | "ScatterNdSub" | "ScatterNdMin" | "ScatterNdMax" | "ScatterNdUpdate" => 1,
        "QueueEnqueue" | "QueueEnqueueMany" | "QueueDequeue" | "QueueDequeueMany" | "QueueDequeueUpTo" => 1,
        "QueueSize" | "QueueClose" | "QueueIsClosed" | "StackPush" | "StackPop" | "StackClose" => 1,
        "LookupTableFind" | "LookupTableInsert" | "LookupTableSize" | "LookupTableImport" | "LookupTableExport" => 1,
        "InitializeTable" | "InitializeTableFromTextFile" => 1,
        "AccumulatorApplyGradient" | "AccumulatorTakeGradient" | "AccumulatorNumAccumulated" => 1,
        "AccumulatorSetGlobalStep" | "SparseAccumulatorApplyGradient" | "SparseAccumulatorTakeGradient" => 1,
        "BarrierInsertMany" | "BarrierTakeMany" | "BarrierClose" | "BarrierReadySize" | "BarrierIncompleteSize" => 1,
        "RefMerge" | "RefSelect" => usize::MAX,
        _ => 0,
    }
}

/// Whether a port of a node is a resource handle.
pub(super) fn is_handle(node: &NodeDef, port: u32) -> bool {
    const MAKERS: [&str; 13] = [
        "VarHandleOp",
        "TensorArrayV3",
        "TensorArrayGradV3",
        "TensorArrayGradWithShape",
        "StackV2",
        "Iterator",
        "IteratorV2",
        "OneShotIterator",
        "SummaryWriter",
        "MutexV2",
        "ResourceConditionalAccumulator",
        "HashTableV2",
        "MutableHashTableV2",
    ];
    let passes_on = matches!(
        node.op.as_str(),
        "Placeholder" | "Identity" | "Enter" | "Exit" | "NextIteration" | "Switch" | "Merge" | "_Arg"
    );
    match port {
        0 if MAKERS.contains(&node.op.as_str()) => true,
        0 if node.op.ends_with("QueueV2") || node.op.ends_with("ReaderV2") => true,
        0 => passes_on && is_resource(node),
        1 => node.op == "Switch" && is_resource(node),
        _ => false,
    }
}

/// Whether a consumer gets its handles at their own device's: calls forward them into the function's body, where ops are placed
/// on their own.
pub(super) fn forwards_handles(op: &str) -> bool {
    matches!(op, "PartitionedCall" | "StatefulPartitionedCall" | "If" | "StatelessIf" | "While" | "StatelessWhile")
}

#[cfg(test)]
mod tests {
    use super::super::proto::{AttrValue, DataType, Value};
    use super::*;

    #[test]
    fn an_update_takes_its_variable_and_slots_by_reference_and_the_gradient_by_value() {
        assert_eq!(reference_inputs("ApplyAdam"), 3);
        assert_eq!(reference_inputs("SparseApplyMomentum"), 2);
        assert_eq!((reference_inputs("SaveV2"), reference_inputs("ScatterNd")), (0, 0));
    }

    #[test]
    fn a_handle_stays_one_on_its_way_through_a_loop() {
        let mut enter = NodeDef { op: "Enter".into(), ..NodeDef::default() };
        assert!(!is_handle(&enter, 0));
        enter.attr.insert("T".into(), AttrValue { value: Some(Value::Type(DataType::DtResource as i32)) });
        assert!(is_handle(&enter, 0));
        let array = NodeDef { op: "TensorArrayV3".into(), ..NodeDef::default() };
        assert!(is_handle(&array, 0) && !is_handle(&array, 1));
    }
}
