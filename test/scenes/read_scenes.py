"""Reads a scene with an unmodified honua-sdk. Arguments: base URL, scene id."""

import json
import sys
from datetime import datetime, timezone

from honua_sdk import HonuaClient

base, scene_id = sys.argv[1:3]
with HonuaClient(base) as client:
    scenes = client.scenes()
    listed = [scene.id for scene in scenes.list_scenes(capabilities=["3d-tiles"], include_disabled=False)]
    scene = scenes.get_scene(scene_id)
    resolved = scenes.resolve_scene(scene_id, required_capabilities=["3d-tiles"])
    tileset = scenes.get_tileset(scene_id)
    package = scenes.build_offline_package(scene_id)
    validation = package.manifest.validate(datetime.now(timezone.utc))
    print(
        json.dumps(
            {
                "listed": listed,
                "name": scene.name,
                "tileset": resolved.tileset_url,
                "version": tileset["asset"]["version"],
                "tiles": len(package.assets),
                "bytes": package.total_bytes,
                "isValid": validation.is_valid,
                "errors": [str(issue) for issue in validation.issues],
            }
        )
    )
