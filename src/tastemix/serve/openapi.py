"""The description of the service: OpenAPI 3.1, made from the types, and a page that shows it."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import msgspec

from tastemix.serve import shapes
from tastemix.serve.asked import Parameter, Route
from tastemix.serve.routes import PREFIX

REF = "#/components/schemas/{name}"
COMMON = {400, 401, 404, 405, 408, 422, 429, 503}
PLACE = re.compile(r"{(\w+)}")


def described(routes: Sequence[Route]) -> dict[str, Any]:
    """The description as JSON."""
    types = [each for route in routes for each in (route.takes, route.gives) if each is not None]
    schemas, components = msgspec.json.schema_components([*types, shapes.Problem], ref_template=REF)
    by_type = dict(zip(types, schemas, strict=False))
    paths: dict[str, Any] = {}
    for route in routes:
        paths.setdefault(PREFIX + route.path, {})[route.method.lower()] = _route(route, by_type)
    return {
        "openapi": "3.1.0",
        "info": {"title": "tastemix", "version": version("tastemix")},
        "paths": paths,
        "components": {"schemas": components},
    }


def _route(route: Route, schemas: dict[Any, Any]) -> dict[str, Any]:
    statuses = sorted(COMMON | ({413, 415} if route.takes is not None else set()))
    said: dict[str, Any] = {
        "summary": route.about,
        "operationId": _name(route),
        "parameters": [
            *({"name": name, **_in_path(name)} for name in PLACE.findall(route.path)),
            *map(_parameter, route.parameters),
        ],
        "responses": {
            "200": _content("The answer.", "application/json", schemas[route.gives]),
            **{
                str(status): _content(
                    "Why not.", "application/problem+json", {"$ref": REF.format(name="Problem")}
                )
                for status in statuses
            },
        },
    }
    if route.takes is not None:
        said["requestBody"] = {
            "required": True,
            **_content("", "application/json", schemas[route.takes]),
        }
        del said["requestBody"]["description"]
    return said


def _name(route: Route) -> str:
    words = re.findall(r"\w+", route.path.replace("{", "by_"))
    return "_".join([route.method.lower(), *words])


def _in_path(name: str) -> dict[str, Any]:
    schema = {"type": "integer", "minimum": 1} if name == "taste" else {"type": "string"}
    return {"in": "path", "required": True, "schema": schema}


def _parameter(parameter: Parameter) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string", "default": parameter.default}
    if parameter.among:
        schema["enum"] = list(parameter.among)
    elif isinstance(parameter.default, bool):
        schema["type"] = "boolean"
    elif isinstance(parameter.default, int):
        schema |= {"type": "integer", "minimum": parameter.least, "maximum": parameter.most}
    else:
        schema["maxLength"] = parameter.most
    return {
        "name": parameter.name,
        "in": "query",
        "description": parameter.about,
        "schema": schema,
    }


def _content(about: str, kind: str, schema: Any) -> dict[str, Any]:
    return {"description": about, "content": {kind: {"schema": schema}}}


def page(said: dict[str, Any]) -> bytes:
    """The description as a plain page, with nothing loaded from anywhere."""
    routes = []
    for path, methods in said["paths"].items():
        for method, route in methods.items():
            rows = "".join(map(_row, route["parameters"]))
            if "requestBody" in route:
                rows += f"<tr><td>body<td>{_type(route['requestBody'])}<td>"
            gives = _type(route["responses"]["200"])
            routes.append(
                f"<h2><code>{method.upper()} {html.escape(path)}</code></h2>"
                f"<p>{html.escape(route['summary'])} Gives {gives}.</p><table>{rows}</table>"
            )
    types = [
        f'<h2 id="{name}">{name}</h2><p>{html.escape(schema.get("description", ""))}</p>'
        f"<pre>{html.escape(msgspec.json.format(msgspec.json.encode(schema)).decode())}</pre>"
        for name, schema in said["components"]["schemas"].items()
    ]
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>tastemix: the service</title>'
        '<meta name="viewport" content="width=device-width">'
        "<h1>The service</h1><p>As a file: "
        f'<a href="/openapi.json">openapi.json</a>.</p>{"".join(routes)}{"".join(types)}</html>'
    ).encode()


def _row(parameter: dict[str, Any]) -> str:
    schema = parameter["schema"]
    bounds = f"{schema['minimum']} to {schema['maximum']}" if "maximum" in schema else ""
    default = f"default {schema['default']!r}" if "default" in schema else "in the path"
    about = html.escape(parameter.get("description", ""))
    return f"<tr><td>{parameter['name']}<td>{schema['type']} {bounds} {default}<td>{about}"


def _type(holder: dict[str, Any]) -> str:
    schema = next(iter(holder["content"].values()))["schema"]
    name = schema["$ref"].rpartition("/")[2]
    return f'<a href="#{name}">{name}</a>'
