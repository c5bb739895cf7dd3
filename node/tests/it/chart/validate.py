"""Holds the objects on standard input (YAML) against the strict schemas of release 1.35; prints what is wrong.

Objects of custom resources have no schema here.
"""
import sys

import kubernetes_validate
import yaml

CUSTOM = ('monitoring.coreos.com/', 'cert-manager.io/')

count = 0
for thing in yaml.safe_load_all(sys.stdin):
    if not thing or thing['apiVersion'].startswith(CUSTOM):
        continue
    count += 1
    try:
        kubernetes_validate.validate(thing, '1.35', strict=True)
    except Exception as error:
        print(f"{thing['kind']} {thing['metadata']['name']}: {error}")
        sys.exit(1)
print(count)
