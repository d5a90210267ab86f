node { name: "a" op: "NoOp" }
