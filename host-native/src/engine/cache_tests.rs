//! What the cache does with good, damaged and foreign content.

use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::engine::COMPONENT;

struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tackroom-cache-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Self(path)
    }

    /// The one file in it.
    fn file(&self) -> PathBuf {
        let files: Vec<_> = fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(files.len(), 1, "{files:?}");
        files[0].clone()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn engine() -> Engine {
    Engine::new(wasmtime::Config::new().concurrency_support(false)).unwrap()
}

fn read_one(engine: &Engine, place: &Place) -> Result<Option<Component>, CacheError> {
    read(engine, &place.0, &place.0.join(file_name(engine, COMPONENT)))
}

#[test]
fn what_is_kept_is_found_again_in_a_private_directory() {
    let place = Place::new("kept");
    let engine = engine();
    assert!(read_one(&engine, &place).unwrap().is_none());
    Cache::at(&place.0).component(&engine, COMPONENT).unwrap();
    assert_eq!(fs::metadata(&place.0).unwrap().mode() & 0o777, 0o700);
    assert_eq!(fs::metadata(place.file()).unwrap().mode() & 0o777, 0o600);
    assert!(read_one(&engine, &place).unwrap().is_some());
}

#[test]
fn damaged_content_is_built_anew_and_never_loaded() {
    let place = Place::new("damaged");
    let engine = engine();
    Cache::at(&place.0).component(&engine, COMPONENT).unwrap();
    let good = fs::read(place.file()).unwrap();
    let mut flipped = good.clone();
    flipped[good.len() / 2] ^= 1;
    let mut other_hash = good.clone();
    other_hash[0] ^= 1;
    for bad in [&flipped, &other_hash, &good[..good.len() - 1].to_vec(), &Vec::new()] {
        fs::write(place.file(), bad).unwrap();
        assert!(matches!(read_one(&engine, &place), Err(CacheError::Damaged)));
        Cache::at(&place.0).component(&engine, COMPONENT).unwrap();
        assert_eq!(fs::read(place.file()).unwrap(), good);
    }
}

#[test]
fn content_of_another_program_with_a_right_hash_is_refused() {
    let place = Place::new("foreign");
    let engine = engine();
    Cache::at(&place.0).component(&engine, COMPONENT).unwrap();
    let code = b"not what wasmtime wrote".to_vec();
    let mut content = Sha256::digest(&code).to_vec();
    content.extend(code);
    fs::write(place.file(), content).unwrap();
    assert!(matches!(read_one(&engine, &place), Err(CacheError::Refused(_))));
    Cache::at(&place.0).component(&engine, COMPONENT).unwrap();
    assert!(read_one(&engine, &place).unwrap().is_some());
}

#[test]
fn a_directory_that_others_can_enter_is_neither_read_nor_written() {
    let place = Place::new("open");
    let engine = engine();
    Cache::at(&place.0).component(&engine, COMPONENT).unwrap();
    for mode in [0o755, 0o770, 0o701] {
        fs::set_permissions(&place.0, fs::Permissions::from_mode(mode)).unwrap();
        assert!(matches!(read_one(&engine, &place), Err(CacheError::NotPrivate(_))), "{mode:o}");
        let file = place.file();
        assert!(matches!(
            write(&place.0, &file, &Cache::none().component(&engine, COMPONENT).unwrap()),
            Err(CacheError::NotPrivate(_))
        ));
    }
}

#[test]
fn a_link_to_a_private_directory_is_not_followed() {
    let place = Place::new("target");
    let engine = engine();
    Cache::at(&place.0).component(&engine, COMPONENT).unwrap();
    let link = Place::new("link");
    std::os::unix::fs::symlink(&place.0, &link.0).unwrap();
    let found = read_one(&engine, &link);
    fs::remove_file(&link.0).unwrap();
    assert!(matches!(found, Err(CacheError::NotPrivate(_))));
}

#[test]
fn the_name_changes_with_component_and_options() {
    let name = file_name(&engine(), COMPONENT);
    assert_eq!(name, file_name(&engine(), COMPONENT));
    assert_ne!(name, file_name(&engine(), &COMPONENT[1..]));
    let other = Engine::new(wasmtime::Config::new().concurrency_support(false).consume_fuel(true)).unwrap();
    assert_ne!(name, file_name(&other, COMPONENT));
}

#[test]
fn a_cache_that_cannot_be_written_costs_no_start() {
    let place = Place::new("file");
    fs::write(&place.0, b"a file where the directory should be").unwrap();
    let loaded = Cache::at(&place.0).component(&engine(), COMPONENT);
    fs::remove_file(&place.0).unwrap();
    assert!(loaded.is_ok());
}
