"""An informer made of the Python client's list and Watch, for the tests of the binary.

Usage: informer.py KUBECONFIG HOST:PORT NAMESPACE VERSION [SELECTOR]. It follows the ConfigMaps of a namespace, from a version,
or from a list when that is empty, and prints a line of JSON for each thing that it is told: {"listed": true} after each list,
then the changes, as {"deleted", "name", "uid", "revision"}. When it reads a line it prints what it believes to be there, as
{"store": {NAME: {"uid", "revision", "labels", "data"}}}; when its input ends it ends.
"""

import json
import os
import sys
import threading
import time

import kubernetes
import urllib3

BACKOFF_SECONDS = 0.05  # after an error, before it asks again
PAGE = 5  # objects on a page of its list
GONE = 410

kubeconfig, address, namespace, version, selector = (sys.argv[1:] + [''])[:5]
configuration = kubernetes.client.Configuration()
kubernetes.config.load_kube_config(kubeconfig, client_configuration=configuration)
configuration.host = f'https://{address}'
configuration.retries = False
core = kubernetes.client.CoreV1Api(kubernetes.client.ApiClient(configuration))
store, lock = {}, threading.Lock()


def say(**what):
    with lock:
        print(json.dumps(what), flush=True)


def fetch():
    """Everything that is there, page by page, and its version."""
    objects, token = [], None
    while True:
        page = core.list_namespaced_config_map(namespace, label_selector=selector, limit=PAGE, _continue=token)
        objects += page.items
        token = page.metadata._continue
        if not token:
            return objects, page.metadata.resource_version


def follow(version):
    """Lists when there is no version to go on from; watches from the version; never ends."""
    while True:
        watch = kubernetes.watch.Watch()
        try:
            if not version:
                objects, version = fetch()
                with lock:
                    store.clear()
                    store.update((item.metadata.name, item) for item in objects)
                say(listed=True)
            events = watch.stream(
                core.list_namespaced_config_map, namespace, label_selector=selector, resource_version=version
            )
            for event in events:
                take(event['type'], event['object'])
        except kubernetes.client.ApiException as error:
            if error.status == GONE:
                version = None
                continue
        except (urllib3.exceptions.HTTPError, OSError):
            pass  # nobody there, or a stream that broke off
        version = version and (watch.resource_version or version)
        time.sleep(BACKOFF_SECONDS)


def take(kind, item):
    name, uid, revision = item.metadata.name, item.metadata.uid, item.metadata.resource_version
    with lock:
        if kind == 'DELETED':
            store.pop(name, None)
        else:
            store[name] = item
    say(deleted=kind == 'DELETED', name=name, uid=uid, revision=revision)


def describe(item):
    meta = item.metadata
    return {'uid': meta.uid, 'revision': meta.resource_version, 'labels': meta.labels or {}, 'data': item.data}


threading.Thread(target=follow, args=(version,), daemon=True).start()
for _ in sys.stdin:
    with lock:
        believed = {name: describe(item) for name, item in store.items()}
    say(store=believed)
os._exit(0)
