//! The hosts that Slurm has given to a job.

/// The hosts of a node list as Slurm writes it, in its order: `gpu[01-03,7],login` is gpu01, gpu02, gpu03, gpu7, login.
///
/// # Errors
/// One line, if the text is no such list or stands for more than a million hosts.
///
/// # Complexity
/// O(length of the result).
pub fn expand_node_list(text: &str) -> Result<Vec<String>, String> {
    let fault = |reason: &str| format!("'{text}' is no list of nodes: {reason}");
    let mut hosts = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        // Each name is a sequence of texts and brackets up to a comma outside of brackets.
        let mut names = vec![String::new()];
        loop {
            let end = rest.find(['[', ']', ',']).unwrap_or(rest.len());
            names.iter_mut().for_each(|name| name.push_str(&rest[..end]));
            rest = &rest[end..];
            let Some(bracket) = rest.strip_prefix('[') else { break };
            let (inside, after) = bracket.split_once(']').ok_or_else(|| fault("a [ without ]"))?;
            rest = after;
            let mut longer = Vec::new();
            for name in &names {
                for item in inside.split(',') {
                    let (first, last) = item.split_once('-').unwrap_or((item, item));
                    let numbers = (first.parse::<u64>().ok()).zip(last.parse::<u64>().ok());
                    let (from, to) = numbers.ok_or_else(|| fault("brackets hold numbers and ranges"))?;
                    if from > to || to - from > 1_000_000 || longer.len() > 1_000_000 {
                        return Err(fault(
                            "a range goes from the lesser number to the greater, over at most a million",
                        ));
                    }
                    longer.extend((from..=to).map(|number| format!("{name}{number:0width$}", width = first.len())));
                }
            }
            names = longer;
        }
        if rest.starts_with(']') || names.iter().any(String::is_empty) {
            return Err(fault("a name is missing, or a ] is too many"));
        }
        hosts.append(&mut names);
        rest = match rest.strip_prefix(',') {
            Some("") => return Err(fault("it ends with a comma")),
            Some(after) => after,
            None => rest,
        };
    }
    if hosts.is_empty() { Err(fault("it is empty")) } else { Ok(hosts) }
}

/// An address for each task of an allocation, in the order of the tasks: the tasks of a node have the ports from `port` on.
///
/// `nodes` and `tasks_per_node` are as in the variables `SLURM_JOB_NODELIST` and `SLURM_TASKS_PER_NODE` (`2(x3),1` stands for
/// 2, 2, 2, 1).
///
/// # Errors
/// One line, if a text is not as Slurm writes it, or they do not fit together.
pub fn task_addresses(nodes: &str, tasks_per_node: &str, port: u16) -> Result<Vec<String>, String> {
    let fault = || format!("'{tasks_per_node}' is no list of numbers of tasks, as in 2(x3),1");
    let hosts = expand_node_list(nodes)?;
    let mut tasks: Vec<u16> = Vec::new();
    for item in tasks_per_node.split(',') {
        let (number, times) = match item.split_once("(x") {
            None => (item, 1),
            Some((number, times)) => (number, times.strip_suffix(')').and_then(|t| t.parse().ok()).ok_or_else(fault)?),
        };
        let number = number.trim().parse::<u16>().map_err(|_| fault())?;
        tasks.extend(std::iter::repeat_n(number, hosts.len().min(times)));
    }
    if tasks.len() != hosts.len() {
        return Err(format!("{} nodes, but numbers of tasks for {}", hosts.len(), tasks.len()));
    }
    let mut addresses = Vec::new();
    for (host, tasks) in hosts.iter().zip(tasks) {
        let last = port.checked_add(tasks).ok_or_else(|| format!("{tasks} ports from {port} on are too many"))?;
        addresses.extend((port..last).map(|port| format!("{host}:{port}")));
    }
    Ok(addresses)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_list_is_expanded_as_scontrol_does() {
        for (list, hosts) in [
            ("n1", "n1"),
            ("n1,n2", "n1 n2"),
            ("n[1-3]", "n1 n2 n3"),
            ("gpu[01-03,7],login", "gpu01 gpu02 gpu03 gpu7 login"),
            ("n[098-101]", "n098 n099 n100 n101"),
            ("r[1-2]n[1-2]-ib,x", "r1n1-ib r1n2-ib r2n1-ib r2n2-ib x"),
            ("a[5]b", "a5b"),
        ] {
            assert_eq!(expand_node_list(list).unwrap().join(" "), hosts, "{list}");
        }
        for list in ["", "n[1", "n1]", "n[a-b]", "n[3-1]", "n1,,n2", "n1,", "n[]", "[1-99999999]"] {
            let error = expand_node_list(list).unwrap_err();
            assert!(error.starts_with(&format!("'{list}' is no list of nodes: ")), "{error}");
        }
    }

    #[test]
    fn each_task_has_an_address() {
        let addresses = |nodes, tasks| task_addresses(nodes, tasks, 7100).map(|addresses| addresses.join(" "));
        assert_eq!(addresses("n[1-2],m", "2(x2),1").unwrap(), "n1:7100 n1:7101 n2:7100 n2:7101 m:7100");
        assert_eq!(addresses("n1", "3").unwrap(), "n1:7100 n1:7101 n1:7102");
        assert_eq!(addresses("n[1-2]", "3").unwrap_err(), "2 nodes, but numbers of tasks for 1");
        for tasks in ["", "x", "2(x", "2(xy)", "99999"] {
            assert!(addresses("n1", tasks).unwrap_err().contains("is no list of numbers of tasks"), "{tasks}");
        }
        assert!(task_addresses("n1", "9", 65530).unwrap_err().contains("are too many"));
    }
}
