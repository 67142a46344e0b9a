#![no_main]

fuzz::target!("cases");
