"""Checks messages of channels with the libraries of their vendors.

Reads JSON texts by line from standard input: {"channel": "slack" | "cloudevent", "body": text}. Writes a JSON array of
faults.
"""

import json
import sys

from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent
from slack_sdk.models.blocks import Block


def check_slack(body):
    message = json.loads(body)
    for block in message["blocks"]:
        parsed = Block.parse(block)
        parsed.validate_json()
        if parsed.to_dict() != block:
            raise ValueError(f"Slack reads {parsed.to_dict()} instead of {block}")


def check_cloudevent(body):
    event = JSONFormat().read(CloudEvent, body)
    if event.get_time() is None or event.get_data() is None:
        raise ValueError("the event has no time or no data")


CHECKS = {"slack": check_slack, "cloudevent": check_cloudevent}

faults = []
for line in sys.stdin:
    message = json.loads(line)
    try:
        CHECKS[message["channel"]](message["body"])
    except Exception as error:
        faults.append(f"{message['channel']}: {error}")
json.dump(faults, sys.stdout)
