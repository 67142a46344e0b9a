#![no_main]

fuzz::target!("npy");
