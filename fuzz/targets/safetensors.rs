#![no_main]

fuzz::target!("safetensors");
