"""An operator made of kopf, for the tests of the binary.

Every Workshop gets a ConfigMap of its name that repeats its trade and benches; the status says which generation of the
Workshop that was. kopf's finalizer keeps a Workshop until the operator has deleted its ConfigMap.
"""

import kopf
import kubernetes

# Seconds until kopf tries again what has failed.
SOON = 0.2
KIND = ('craft.example.com', 'v1', 'workshops')


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_):
    kubernetes.config.load_kube_config()
    settings.networking.error_backoffs = [SOON] * 50
    settings.watching.reconnect_backoff = SOON


@kopf.on.create(*KIND, backoff=SOON)
@kopf.on.update(*KIND, backoff=SOON)
def equip(name, namespace, meta, spec, patch, **_):
    body = {
        'apiVersion': 'v1',
        'kind': 'ConfigMap',
        'metadata': {'name': name},
        'data': {'trade': spec['trade'], 'benches': str(spec['benches'])},
    }
    maps = kubernetes.client.CoreV1Api()
    try:
        maps.create_namespaced_config_map(namespace, body)
    except kubernetes.client.ApiException as error:
        if error.status != 409:
            raise
        maps.patch_namespaced_config_map(name, namespace, body)
    patch.status['phase'] = 'Open'
    patch.status['generation'] = meta['generation']


@kopf.on.delete(*KIND, backoff=SOON)
def clear(name, namespace, **_):
    try:
        kubernetes.client.CoreV1Api().delete_namespaced_config_map(name, namespace)
    except kubernetes.client.ApiException as error:
        if error.status != 404:
            raise
