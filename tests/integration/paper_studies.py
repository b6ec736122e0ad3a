"""The studies under recipes/paper as data, read without ghhost."""
import itertools
import json
import pathlib
import tomllib

from ghhost_case import SOURCE

STUDIES = sorted((SOURCE / "recipes/paper").glob("*.toml"))


def as_toml(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {as_toml(inner)}" for key, inner in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False)


def arms(file):
    """Label, recipe and overrides of every arm, axes included, for one seed."""
    study = tomllib.loads(file.read_text())
    base, axes = study["base"], study.get("axes", {})
    for arm in study.get("arm", [{}]):
        recipe = pathlib.Path(file.parent, arm.get("recipe", base["recipe"])).resolve()
        common = base.get("overrides", []) + arm.get("overrides", [])
        for values in itertools.product(*(axes.values() if arm.get("axes", True) else [])):
            point = [f"{key}={as_toml(value)}" for key, value in zip(axes, values)]
            yield " ".join([arm.get("label", ""), *point]), recipe, common + point
