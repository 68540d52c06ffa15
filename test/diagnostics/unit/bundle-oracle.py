"""Independent validator of diagnostic bundles: reads one JSON text per line and prints 1 (legal) or 0."""

import json
import re
import sys
from datetime import date

ALLOWED = {
    "accept", "content-length", "content-type", "etag", "retry-after", "traceparent", "x-correlation-id", "x-request-id",
}


def units(text):
    """UTF-16 code units, with lone surrogates."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def is_text(value, most):
    return isinstance(value, str) and units(value) <= most


def is_integer(value, low, high):
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return value == int(value) and low <= value <= high


def is_time(value):
    if not is_text(value, 40):
        return False
    form = r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?(?:[Zz]|[+-](\d\d)(?::?(\d\d))?)?)?"
    match = re.fullmatch(form, value, re.ASCII)
    if not match:
        return False
    year, month, day, hour, minute, second, zone_hour, zone_minute = (int(x or 0) for x in match.groups())
    try:
        if year == 0:
            return True
        date(year, month, day)
    except ValueError:
        return False
    if hour == 24:
        return minute == 0 and second == 0
    return hour < 24 and minute < 60 and second < 60 and zone_hour < 24 and zone_minute < 60


class Repeated(ValueError):
    """A name occurs twice, in different case."""


def has_members(value, required, optional):
    """Spells the names as the schema does, and drops nulls of optional members."""
    if not isinstance(value, dict):
        return False
    names = {name.lower(): name for name in required | optional}
    bound = {}
    for key, one in value.items():
        name = names.get(key.lower(), key)
        if one is None and name in optional:
            continue
        if name in bound:
            raise Repeated(name)
        bound[name] = one
    value.clear()
    value.update(bound)
    return required <= set(value) and set(value) <= required | optional


def is_header(value):
    return (
        has_members(value, {"name", "value"}, set())
        and is_text(value["name"], 128)
        and value["name"].lower() in ALLOWED
        and is_text(value["value"], 2048)
    )


def is_preview(value):
    if not has_members(
        value, {"originalByteSize", "redactionApplied", "truncated"}, {"preview", "contentSha256"}
    ):
        return False
    return (
        ("preview" not in value or is_text(value["preview"], 8192))
        and (
            "contentSha256" not in value
            or (
                isinstance(value["contentSha256"], str)
                and re.fullmatch(r"[0-9a-f]{64}", value["contentSha256"]) is not None
            )
        )
        and is_integer(value["originalByteSize"], 0, 26214400)
        and isinstance(value["redactionApplied"], bool)
        and isinstance(value["truncated"], bool)
    )


OPTIONAL = {
    "statusCode": lambda v: is_integer(v, 100, 599),
    "mediaType": lambda v: is_text(v, 256),
    "correlationId": lambda v: is_text(v, 200),
    "traceId": lambda v: is_text(v, 200),
    "capturedAt": is_time,
    "requestHeaders": lambda v: isinstance(v, list) and len(v) <= 32 and all(map(is_header, v)),
    "responseHeaders": lambda v: isinstance(v, list) and len(v) <= 32 and all(map(is_header, v)),
    "requestBody": is_preview,
    "responseBody": is_preview,
}


def is_envelope(value):
    return (
        has_members(value, {"method", "normalizedPath"}, set(OPTIONAL))
        and is_text(value["method"], 16)
        and is_text(value["normalizedPath"], 2048)
        and all(check(value[name]) for name, check in OPTIONAL.items() if name in value)
    )


def is_bundle(value):
    if not has_members(
        value, {"schemaVersion", "contentClassification", "consent", "envelopes"}, {"bundleId"}
    ):
        return False
    consent = value["consent"]
    return (
        value["schemaVersion"] == "1.0"
        and isinstance(value["schemaVersion"], str)
        and ("bundleId" not in value or is_text(value["bundleId"], 64))
        and value["contentClassification"] in ("unknown", "public", "internal", "customer-data", "secret-suspected")
        and has_members(consent, {"redactionAcknowledged", "shareWithSupport"}, {"grantedBy"})
        and consent["redactionAcknowledged"] is True
        and isinstance(consent["shareWithSupport"], bool)
        and ("grantedBy" not in consent or is_text(consent["grantedBy"], 256))
        and isinstance(value["envelopes"], list)
        and 1 <= len(value["envelopes"]) <= 50
        and all(map(is_envelope, value["envelopes"]))
    )


for line in sys.stdin:
    try:
        print(1 if is_bundle(json.loads(line)) else 0)
    except (ValueError, TypeError, OverflowError):
        print(0)
