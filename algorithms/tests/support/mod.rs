//! Instances and helpers that several tests share.

#![allow(dead_code, unreachable_pub, reason = "each test uses its own part")]

pub mod instances;
