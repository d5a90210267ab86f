//! All tests of the crate in one program, since each program costs seconds to link.

mod command_placer;
mod compare;
mod executor;
mod extremes;
mod fair_share;
mod fairness;
mod function_placer;
mod golden;
mod metrics;
mod numberings;
mod online;
mod optimum;
mod peak_memory;
mod properties;
mod schedulers;
mod searches;
mod simgrid;
mod simulator;
mod steady_state;
mod support;
mod tables;
mod threads;
mod trace;
mod training_steps;
mod validator;
mod views;
