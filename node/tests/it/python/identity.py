"""What a program does about identities with the official Python client, release 1.35. Ends with an AssertionError where the
server does otherwise. Usage: identity.py FOLDER ADDRESS, where FOLDER holds admin.kubeconfig, ca.crt and robot.csr."""

import base64
import pathlib
import sys
import time

from kubernetes import client, config, watch
from kubernetes.client import ApiException
from kubernetes.config import incluster_config

folder, address = pathlib.Path(sys.argv[1]), sys.argv[2]
PATIENCE = 60


def refused(code, call, *arguments, **named):
    """The call is refused with this code."""
    try:
        call(*arguments, **named)
    except ApiException as error:
        assert error.status == code, (error.status, error.body)
        return
    raise AssertionError(f"{call.__name__} was not refused with {code}")


def eventually(what, attempt):
    """Tries until it gives something."""
    deadline = time.monotonic() + PATIENCE
    while not (found := attempt()):
        assert time.monotonic() < deadline, what
        time.sleep(0.05)
    return found


def inside(name, token):
    """A client as a program in a pod makes it: from an address in the environment, a token and an authority in files."""
    place = folder / name
    place.mkdir()
    (place / "token").write_text(token)
    host, port = address.rsplit(":", 1)
    loader = incluster_config.InClusterConfigLoader(
        token_filename=str(place / "token"),
        cert_filename=str(folder / "ca.crt"),
        environ={"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port},
    )
    settings = client.Configuration()
    loader.load_and_set(settings)
    return client.ApiClient(settings)


def whoami(api):
    review = client.AuthenticationV1Api(api).create_self_subject_review(client.V1SelfSubjectReview())
    return review.status.user_info


admin = config.new_client_from_config(str(folder / "admin.kubeconfig"))
core, rbac = client.CoreV1Api(admin), client.RbacAuthorizationV1Api(admin)
meta = client.V1ObjectMeta

assert whoami(admin).username == "admin" and "system:masters" in whoami(admin).groups

# An account, a token for it, and a program that lives by it.
core.create_namespace(client.V1Namespace(metadata=meta(name="team")))
account = core.create_namespaced_service_account("team", client.V1ServiceAccount(metadata=meta(name="robot")))
core.create_namespaced_secret("team", client.V1Secret(metadata=meta(name="anchor"), string_data={"k": "v"}))
anchor = core.read_namespaced_secret("anchor", "team")


def token(audiences=(), seconds=600, bound=None):
    spec = client.V1TokenRequestSpec(audiences=list(audiences), expiration_seconds=seconds, bound_object_ref=bound)
    body = client.AuthenticationV1TokenRequest(spec=spec)
    return core.create_namespaced_service_account_token("robot", "team", body).status


issued = token()
robot = inside("robot", issued.token)
me = whoami(robot)
assert (me.username, me.uid) == ("system:serviceaccount:team:robot", account.metadata.uid), me
assert "system:serviceaccounts:team" in me.groups, me.groups
refused(403, client.CoreV1Api(robot).list_namespaced_secret, "team")
refused(422, token, seconds=599)

# What others make of a token.
reviews = client.AuthenticationV1Api(admin)


def reviewed(text, audiences=None):
    spec = client.V1TokenReviewSpec(token=text, audiences=audiences)
    return reviews.create_token_review(client.V1TokenReview(spec=spec)).status


status = reviewed(issued.token)
assert status.authenticated and status.user.username == me.username, status
foreign = token(audiences=["vault"]).token
assert reviewed(foreign, ["vault", "other"]).audiences == ["vault"]
assert not reviewed(foreign).authenticated
assert not reviewed("nonsense").authenticated
refused(401, whoami, inside("foreign", foreign))

# Rights come and go.
rule = client.V1PolicyRule(api_groups=[""], resources=["configmaps"], verbs=["get", "list", "watch", "create"])
rbac.create_namespaced_role("team", client.V1Role(metadata=meta(name="maps"), rules=[rule]))
subject = client.RbacV1Subject(kind="ServiceAccount", name="robot", namespace="team")
reference = client.V1RoleRef(api_group="rbac.authorization.k8s.io", kind="Role", name="maps")
binding = client.V1RoleBinding(metadata=meta(name="maps"), subjects=[subject], role_ref=reference)
rbac.create_namespaced_role_binding("team", binding)
maps = client.CoreV1Api(robot)
maps.create_namespaced_config_map("team", client.V1ConfigMap(metadata=meta(name="m"), data={"k": "v"}))
seen = next(watch.Watch().stream(maps.list_namespaced_config_map, "team", timeout_seconds=PATIENCE))
assert (seen["type"], seen["object"].kind) == ("ADDED", "ConfigMap"), seen
refused(403, maps.create_namespaced_config_map, "default", client.V1ConfigMap(metadata=meta(name="m")))
access = client.AuthorizationV1Api(robot)
for verb, expect in [("list", True), ("delete", False)]:
    attributes = client.V1ResourceAttributes(namespace="team", verb=verb, resource="configmaps")
    review = client.V1SelfSubjectAccessReview(spec=client.V1SelfSubjectAccessReviewSpec(resource_attributes=attributes))
    assert access.create_self_subject_access_review(review).status.allowed is expect, verb
rules = client.V1SelfSubjectRulesReview(spec=client.V1SelfSubjectRulesReviewSpec(namespace="team"))
rules = access.create_self_subject_rules_review(rules).status
assert any("configmaps" in rule.resources and "watch" in rule.verbs for rule in rules.resource_rules), rules
assert [item.metadata.name for item in rbac.list_namespaced_role("team").items] == ["maps"]
patched = rbac.patch_namespaced_role("maps", "team", {"rules": []})
assert not patched.rules
refused(403, maps.list_namespaced_config_map, "team")
wrong = {**admin.sanitize_for_serialization(binding), "roleRef": {**admin.sanitize_for_serialization(reference), "name": "x"}}
refused(422, rbac.replace_namespaced_role_binding, "maps", "team", wrong)
rbac.delete_namespaced_role_binding("maps", "team")

# A certificate is asked for, approved, issued and used.
certificates = client.CertificatesV1Api(admin)
spec = client.V1CertificateSigningRequestSpec(
    request=base64.b64encode((folder / "robot.csr").read_bytes()).decode(),
    signer_name="kubernetes.io/kube-apiserver-client",
    expiration_seconds=3600,
    usages=["client auth", "digital signature"],
)
asked = client.V1CertificateSigningRequest(metadata=meta(name="robot"), spec=spec)
asked = certificates.create_certificate_signing_request(asked)
assert asked.spec.username == "admin", asked.spec
named = {"field_selector": "spec.signerName=kubernetes.io/kube-apiserver-client"}
assert len(certificates.list_certificate_signing_request(**named).items) == 1
condition = client.V1CertificateSigningRequestCondition(type="Approved", status="True", reason="Asked", message="m")
asked.status = client.V1CertificateSigningRequestStatus(conditions=[condition])
certificates.replace_certificate_signing_request_approval("robot", asked)
done = eventually("a certificate", lambda: certificates.read_certificate_signing_request("robot").status.certificate)
(folder / "robot.crt").write_bytes(base64.b64decode(done))
settings = client.Configuration(host=f"https://{address}")
settings.ssl_ca_cert = str(folder / "ca.crt")
settings.cert_file, settings.key_file = str(folder / "robot.crt"), str(folder / "robot.key")
holder = whoami(client.ApiClient(settings))
assert holder.username == "jane" and "dev" in holder.groups, holder

# A bound token ends with its object, every token with its account.
bound = client.V1BoundObjectReference(api_version="v1", kind="Secret", name="anchor", uid=anchor.metadata.uid)
tied = inside("tied", token(bound=bound).token)
assert whoami(tied).username == me.username
core.delete_namespaced_secret("anchor", "team")
refused(401, whoami, tied)
assert whoami(robot).username == me.username
core.delete_namespaced_service_account("robot", "team")
refused(401, whoami, robot)
print("done")
