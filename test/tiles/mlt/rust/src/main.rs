//! Tiles by mlt-core, for tests. Standard input holds tiles, each after its length (four bytes, little-endian).
//! `read`: MapLibre Tiles; writes each as GeoJSON, a line each.
//! `write`: vector tiles; writes each as MapLibre Tile with all encodings that mlt-core has, each after its length.

use std::io::{self, Read, Write};

use mlt_core::encoder::EncoderConfig;
use mlt_core::geojson::FeatureCollection;
use mlt_core::mvt::mvt_to_tile_layers;
use mlt_core::{Decoder, MltResult, Parser};

fn read(tile: &[u8]) -> MltResult<Vec<u8>> {
    let mut decoder = Decoder::default();
    let layers = Parser::default()
        .parse_layers(tile)?
        .into_iter()
        .map(|layer| layer.decode_all(&mut decoder))
        .collect::<MltResult<Vec<_>>>()?;
    let mut line = serde_json::to_vec(&FeatureCollection::from_layers(layers)?).expect("JSON");
    line.push(b'\n');
    Ok(line)
}

fn write(tile: &[u8], triangles: bool) -> MltResult<Vec<u8>> {
    let config = EncoderConfig::default()
        .with_spatial_morton_sort(false)
        .with_spatial_hilbert_sort(false)
        .with_id_sort(false)
        .with_tessellation(triangles);
    let mut out = vec![0; 4];
    for layer in mvt_to_tile_layers(tile.to_vec())? {
        out.extend(layer.encode(config)?);
    }
    let length = (out.len() - 4) as u32;
    out[..4].copy_from_slice(&length.to_le_bytes());
    Ok(out)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let act = std::env::args().nth(1).unwrap_or_default();
    let mut input = Vec::new();
    io::stdin().read_to_end(&mut input)?;
    let mut out = io::stdout().lock();
    let mut rest = &input[..];
    while rest.len() >= 4 {
        let length = u32::from_le_bytes(rest[..4].try_into()?) as usize;
        let (tile, next) = rest[4..].split_at(length);
        rest = next;
        out.write_all(&match act.as_str() {
            "read" => read(tile)?,
            "write" => write(tile, false)?,
            "write-triangles" => write(tile, true)?,
            _ => return Err("read, write or write-triangles".into()),
        })?;
    }
    Ok(())
}
