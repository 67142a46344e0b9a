#![no_main]

fuzz::target!("graph");
