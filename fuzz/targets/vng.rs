#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| warpscope_testkit::hostile::vng(data));
