#![no_main]

fuzz::target!("launch");
