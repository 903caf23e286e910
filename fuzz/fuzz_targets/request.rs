#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| costar_fuzz::request(bytes));
