
fn main() {
    unsafe { libc::mallopt(libc::M_MMAP_MAX, 0); libc::mallopt(libc::M_TRIM_THRESHOLD, i32::MAX); libc::mallopt(libc::M_TOP_PAD, 256<<20); }
    tch::set_num_threads(2);
    let a: Vec<String> = std::env::args().collect();
    costar::train::run(costar::puzzle::cube3::Cube3, a[1].parse().unwrap(), std::path::Path::new(&a[2]));
}
