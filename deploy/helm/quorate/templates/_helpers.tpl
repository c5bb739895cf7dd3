{{- define "quorate.name" -}}
{{ default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- define "quorate.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains (include "quorate.name" .) .Release.Name -}}
{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name (include "quorate.name" .) | trunc 40 | trimSuffix "-" }}
{{- end -}}
{{- end }}

{{- define "quorate.headless" -}}
{{ include "quorate.fullname" . }}-peers
{{- end }}

{{- define "quorate.registration" -}}
{{ default (printf "%s-registration" (include "quorate.fullname" .)) .Values.registration.secretName }}
{{- end }}

{{- define "quorate.serviceAccount" -}}
{{ default (include "quorate.fullname" .) .Values.serviceAccount.name }}
{{- end }}

{{- define "quorate.image" -}}
{{ .Values.image.repository }}{{ if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ default .Chart.AppVersion .Values.image.tag }}{{ end }}
{{- end }}

{{- define "quorate.tlsSecret" -}}
{{- if eq .Values.certificates.mode "certManager" -}}
{{ include "quorate.fullname" . }}-serving
{{- else -}}
{{ required "certificates.secretName names the Secret with tls.crt and tls.key" .Values.certificates.secretName }}
{{- end -}}
{{- end }}

{{/* What selects the pods of the release; add a component. */}}
{{- define "quorate.selector" -}}
app.kubernetes.io/name: {{ include "quorate.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "quorate.labels" -}}
{{ include "quorate.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "quorate.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "quorate.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
privileged: false
capabilities: {drop: [ALL]}
{{- end }}

{{/* Arguments of every step: (dict "root" $ "role" "voter" or "api"). */}}
{{- define "quorate.stepArgs" -}}
{{- $root := .root -}}
- --data-dir=/data/node
- --role={{ .role }}
- --registration={{ include "quorate.registration" $root }}
{{- /* All that there can be: the same text at each scale restarts no pod. */}}
{{- range $ordinal := until 5 }}
- --peer={{ include "quorate.fullname" $root }}-{{ $ordinal }}.{{ include "quorate.headless" $root }}.{{ $root.Release.Namespace }}.svc.{{ $root.Values.clusterDomain }}:7443
{{- end }}
{{- if ne $root.Values.certificates.mode "own" }}
- --server-certificate=/tls
{{- end }}
{{- end }}

{{- define "quorate.serveArgs" -}}
- serve
- --data-dir=/data/node
- --log-format={{ .Values.logFormat }}
- --store-size-limit={{ .Values.store.sizeLimit }}
- --history-duration={{ .Values.store.historyDuration }}
- --history-size={{ .Values.store.historySize }}
{{- if eq .Values.probes.mode "https" }}
- --anonymous-auth
{{- end }}
- --shutdown-delay-duration={{ .Values.shutdownDelay }}
{{- if .Values.archive.enabled }}
- --archive=on
- --archive-retention={{ .Values.archive.retention }}
- --archive-size={{ .Values.archive.size }}
{{- else }}
- --archive=off
{{- end }}
{{- if .Values.backup.enabled }}
- --backup-to={{ required "backup.to is where the backups go" .Values.backup.to }}
- --backup-key-file=/backup-key/{{ .Values.backup.keySecret.key }}
- --backup-every={{ .Values.backup.every }}
- --backup-keep={{ .Values.backup.keep }}
{{- if .Values.backup.withCredentials }}
- --backup-with-credentials
{{- end }}
{{- end }}
{{- with .Values.otlp }}
{{- if .endpoint }}
- --otlp-endpoint={{ .endpoint }}
- --tracing-sampling-rate-per-million={{ int .samplingRatePerMillion }}
{{- end }}
{{- end }}
{{- with .Values.extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "quorate.podEnv" -}}
- name: POD_NAME
  valueFrom: {fieldRef: {fieldPath: metadata.name}}
- name: POD_NAMESPACE
  valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
- name: POD_IP
  valueFrom: {fieldRef: {fieldPath: status.podIP}}
{{- end }}

{{/* How a node reaches the collector. */}}
{{- define "quorate.otlpEnv" -}}
- name: OTEL_EXPORTER_OTLP_PROTOCOL
  value: {{ .Values.otlp.protocol }}
- name: OTEL_METRIC_EXPORT_INTERVAL
  value: {{ int .Values.otlp.metricIntervalMilliseconds | quote }}
{{- $attributes := list "k8s.pod.name=$(POD_NAME)" "k8s.namespace.name=$(POD_NAMESPACE)" }}
{{- range $name, $value := .Values.otlp.resourceAttributes }}
{{- $attributes = append $attributes (printf "%s=%s" $name $value) }}
{{- end }}
- name: OTEL_RESOURCE_ATTRIBUTES
  value: {{ join "," $attributes | quote }}
{{- if .Values.otlp.authoritySecret }}
- name: OTEL_EXPORTER_OTLP_CERTIFICATE
  value: /otlp-authority/ca.crt
{{- end }}
{{- with .Values.otlp.headersSecret }}
- name: OTEL_EXPORTER_OTLP_HEADERS
  valueFrom: {secretKeyRef: {name: {{ . }}, key: headers}}
{{- end }}
{{- end }}

{{/* A number of bytes. */}}
{{- define "quorate.bytes" -}}
{{- $number := regexFind "^[0-9]+" . | int64 -}}
{{- $unit := regexFind "[A-Za-z]+$" . -}}
{{- mul $number (get (dict "" 1 "B" 1 "KiB" 1024 "MiB" 1048576 "GiB" 1073741824) $unit) -}}
{{- end }}

{{/* The disk that a node may need: log, journal and two checkpoints of all objects, the history, the archive and what waits for it. */}}
{{- define "quorate.disk" -}}
{{- $gib := 1073741824 -}}
{{- $bytes := mul 4 (include "quorate.bytes" .Values.store.sizeLimit | int64) -}}
{{- $bytes = add $bytes (include "quorate.bytes" .Values.store.historySize | int64) $gib -}}
{{- if .Values.archive.enabled -}}
{{- $bytes = add $bytes (include "quorate.bytes" .Values.archive.size | int64) (mul 2 $gib) -}}
{{- end -}}
{{- div (add $bytes (sub $gib 1)) $gib -}}Gi
{{- end }}

{{/* The size of a voter's volume. That of a StatefulSet that is there cannot be changed. */}}
{{- define "quorate.volumeSize" -}}
{{- $there := lookup "apps/v1" "StatefulSet" .Release.Namespace (include "quorate.fullname" .) -}}
{{- if .Values.voters.storage.size -}}
{{ .Values.voters.storage.size }}
{{- else if $there -}}
{{ (index $there.spec.volumeClaimTemplates 0).spec.resources.requests.storage }}
{{- else -}}
{{ include "quorate.disk" . }}
{{- end -}}
{{- end }}

{{/* The containers of a pod: (dict "root" $ "role" R "advertise" HOST:PORT among members "resources" RESOURCES). */}}
{{- define "quorate.containers" -}}
{{- $root := .root -}}
{{- $values := .root.Values -}}
initContainers:
  - name: setup
    image: {{ include "quorate.image" $root }}
    imagePullPolicy: {{ $values.image.pullPolicy }}
    command: [/quorate]
    args:
      - operator-step
      - setup
      {{- include "quorate.stepArgs" . | nindent 6 }}
      - --naming={{ $values.naming }}
      - --wait={{ $values.registration.wait }}
      - --advertise={{ include "quorate.fullname" $root }}.{{ $root.Release.Namespace }}.svc:{{ $values.service.port }}
      - --peer-advertise={{ .peerAdvertise }}
    env:
      {{- include "quorate.podEnv" . | nindent 6 }}
    resources:
      requests: {cpu: 50m, memory: 64Mi}
      limits: {memory: 256Mi}
    securityContext:
      {{- include "quorate.containerSecurity" . | nindent 6 }}
    volumeMounts:
      {{- include "quorate.stepMounts" $root | nindent 6 }}
containers:
  - name: quorate
    image: {{ include "quorate.image" $root }}
    imagePullPolicy: {{ $values.image.pullPolicy }}
    command: [/quorate]
    args:
      {{- include "quorate.serveArgs" $root | nindent 6 }}
    env:
      {{- include "quorate.podEnv" . | nindent 6 }}
      {{- if $values.otlp.endpoint }}
      {{- include "quorate.otlpEnv" $root | nindent 6 }}
      {{- end }}
      {{- with $values.extraEnv }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
    {{- if or $values.extraEnvFrom (and $values.backup.enabled $values.backup.credentialsSecret) }}
    envFrom:
      {{- if and $values.backup.enabled $values.backup.credentialsSecret }}
      - secretRef: {name: {{ $values.backup.credentialsSecret }}}
      {{- end }}
      {{- with $values.extraEnvFrom }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
    {{- end }}
    ports:
      - {name: api, containerPort: 6443, protocol: TCP}
      - {name: peer, containerPort: 7443, protocol: TCP}
    {{- if eq $values.probes.mode "https" }}
    startupProbe:
      httpGet: {path: /livez, port: api, scheme: HTTPS}
      {{- toYaml $values.probes.startup | nindent 6 }}
    livenessProbe:
      httpGet: {path: /livez, port: api, scheme: HTTPS}
      {{- toYaml $values.probes.liveness | nindent 6 }}
    readinessProbe:
      httpGet: {path: /readyz, port: api, scheme: HTTPS}
      {{- toYaml $values.probes.readiness | nindent 6 }}
    {{- else }}
    startupProbe:
      exec: {command: [/quorate, status, --data-dir=/data/node]}
      {{- toYaml $values.probes.startup | nindent 6 }}
    livenessProbe:
      exec: {command: [/quorate, status, --data-dir=/data/node]}
      {{- toYaml $values.probes.liveness | nindent 6 }}
    readinessProbe:
      exec: {command: [/quorate, status, --ready, --data-dir=/data/node]}
      {{- toYaml $values.probes.readiness | nindent 6 }}
    {{- end }}
    {{- if eq .role "voter" }}
    lifecycle:
      preStop:
        exec:
          command:
            - /quorate
            - operator-step
            - leave
            {{- include "quorate.stepArgs" . | nindent 12 }}
    {{- end }}
    {{- with .resources }}
    resources:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    securityContext:
      {{- include "quorate.containerSecurity" . | nindent 6 }}
    volumeMounts:
      - {name: data, mountPath: /data}
      {{- if $values.backup.enabled }}
      - {name: backup-key, mountPath: /backup-key, readOnly: true}
      {{- end }}
      {{- if and $values.otlp.endpoint $values.otlp.authoritySecret }}
      - {name: otlp-authority, mountPath: /otlp-authority, readOnly: true}
      {{- end }}
      {{- with $values.extraVolumeMounts }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
  - name: follow
    image: {{ include "quorate.image" $root }}
    imagePullPolicy: {{ $values.image.pullPolicy }}
    command: [/quorate]
    args:
      - operator-step
      - follow
      {{- include "quorate.stepArgs" . | nindent 6 }}
      {{- if eq .role "voter" }}
      - --api-pods=app.kubernetes.io/name={{ include "quorate.name" $root }},app.kubernetes.io/instance={{ $root.Release.Name }},app.kubernetes.io/component=api
      {{- end }}
    env:
      {{- include "quorate.podEnv" . | nindent 6 }}
    resources:
      requests: {cpu: 10m, memory: 32Mi}
      limits: {memory: 128Mi}
    securityContext:
      {{- include "quorate.containerSecurity" . | nindent 6 }}
    volumeMounts:
      {{- include "quorate.stepMounts" $root | nindent 6 }}
{{- end }}

{{- define "quorate.stepMounts" -}}
- {name: data, mountPath: /data}
{{- if ne .Values.certificates.mode "own" }}
- {name: tls, mountPath: /tls, readOnly: true}
{{- end }}
{{- end }}

{{- define "quorate.volumes" -}}
{{- if ne .Values.certificates.mode "own" }}
- name: tls
  secret: {secretName: {{ include "quorate.tlsSecret" . }}, defaultMode: 288}
{{- end }}
{{- if .Values.backup.enabled }}
- name: backup-key
  secret:
    secretName: {{ required "backup.keySecret.name names the Secret with the key of the repository" .Values.backup.keySecret.name }}
    defaultMode: 288
{{- end }}
{{- if and .Values.otlp.endpoint .Values.otlp.authoritySecret }}
- name: otlp-authority
  secret: {secretName: {{ .Values.otlp.authoritySecret }}, defaultMode: 288}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* (dict "root" $ "component" C "keys" [TOPOLOGY KEYS]) */}}
{{- define "quorate.spread" -}}
{{- range .keys }}
- maxSkew: 1
  topologyKey: {{ . }}
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels:
      {{- include "quorate.selector" $.root | nindent 6 }}
      app.kubernetes.io/component: {{ $.component }}
{{- end }}
{{- end }}
