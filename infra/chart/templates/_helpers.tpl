{{- define "holdpoint.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end -}}

{{- define "holdpoint.labels" -}}
app.kubernetes.io/part-of: holdpoint
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "holdpoint.bus" -}}
{{- if .Values.nats.inside.enabled -}}nats://nats:4222{{- else -}}
{{- required "nats.addresses is missing: name your NATS servers, or set nats.inside.enabled" .Values.nats.addresses -}}
{{- end -}}
{{- end -}}

{{- define "holdpoint.database" -}}
{{- $host := "postgres" -}}
{{- if not .root.Values.postgres.inside.enabled -}}
{{- $host = required "postgres.host is missing: name your server, or set postgres.inside.enabled" .root.Values.postgres.host -}}
{{- end -}}
postgres://{{ .role }}@{{ $host }}:{{ .root.Values.postgres.port }}/{{ .database }}{{ with .root.Values.postgres.parameters }}?{{ . }}{{ end }}
{{- end -}}

{{/* Restricted pods, as the pod security standard has it. Secrets have the mode 288, which is 0440. */}}
{{- define "holdpoint.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{ toJson . }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{ toJson . }}
{{- end }}
{{- end -}}

{{- define "holdpoint.user" -}}
securityContext:
  runAsNonRoot: true
  runAsUser: {{ . }}
  runAsGroup: {{ . }}
  fsGroup: {{ . }}
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{- define "holdpoint.container" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end -}}

{{- define "holdpoint.database-settings" -}}
- { name: HOLDPOINT_DATABASE_URL, valueFrom: { configMapKeyRef: { name: holdpoint-addresses, key: database-{{ . }} } } }
- { name: HOLDPOINT_DATABASE_PASSWORD_FILE, value: /run/holdpoint/postgres.password }
{{- end -}}

{{- define "holdpoint.certificate-setting" -}}
{{- if .Values.certificateAuthority.secret }}
- { name: NODE_EXTRA_CA_CERTS, value: /run/certificates/ca.crt }
{{- end }}
{{- end -}}

{{- define "holdpoint.certificate-mount" -}}
{{- if .Values.certificateAuthority.secret }}
- { name: certificates, mountPath: /run/certificates, readOnly: true }
{{- end }}
{{- end -}}

{{- define "holdpoint.certificate-volume" -}}
{{- with .Values.certificateAuthority.secret }}
- name: certificates
  secret: { secretName: {{ . }}, defaultMode: 288 }
{{- end }}
{{- end -}}

{{/* Every pool of the deployment: the orchestrator makes a consumer for each. */}}
{{- define "holdpoint.pools" -}}
{{- $pools := list -}}
{{- range .Values.executors -}}{{- $pools = append $pools .pool -}}{{- end -}}
{{- join "," $pools -}}
{{- end -}}

{{- define "holdpoint.executor" -}}
{{- if eq . "default" }}executor{{ else }}executor-{{ . }}{{ end -}}
{{- end -}}

{{/*
The pods of one service. Expects: root, service, name, labels (the selector), image, values (settings, resources), grace (seconds),
env and mounts and volumes (further ones, as YAML), tmp (size).
*/}}
{{- define "holdpoint.template" -}}
{{- $root := .root -}}
metadata:
  labels:
    {{- .labels | nindent 4 }}
    app.kubernetes.io/part-of: holdpoint
    app.kubernetes.io/component: service
    holdpoint.dev/bus: 'true'
    holdpoint.dev/data: 'true'
  annotations:
    prometheus.io/scrape: 'true'
    prometheus.io/path: /metrics
    prometheus.io/port: '8081'
    {{- range $key, $value := $root.Values.podAnnotations }}
    {{ $key }}: {{ $value | quote }}
    {{- end }}
spec:
  serviceAccountName: {{ .service }}
  {{- include "holdpoint.pod" $root | nindent 2 }}
  # Above the 15 s for the last batch of a service{{ if .preStop }}, and the time before SIGTERM{{ end }}.
  terminationGracePeriodSeconds: {{ .grace }}
  {{- include "holdpoint.user" 1000 | nindent 2 }}
  topologySpreadConstraints:
    {{- range $key := list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
    - maxSkew: 1
      topologyKey: {{ $key }}
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- $.labels | nindent 10 }}
    {{- end }}
  initContainers:
    # The services of a release start on its schema.
    - name: migrations
      image: {{ .image }}
      imagePullPolicy: {{ $root.Values.image.pullPolicy }}
      command: [tini, --, node, infra/postgres/wait.ts, {{ .service }}]
      env:
        {{- include "holdpoint.database-settings" .service | nindent 8 }}
        {{- include "holdpoint.certificate-setting" $root | trim | nindent 8 }}
      resources: { requests: { cpu: 50m, memory: 64Mi }, limits: { cpu: '1', memory: 256Mi } }
      {{- include "holdpoint.container" . | nindent 6 }}
      volumeMounts:
        - { name: secrets, mountPath: /run/holdpoint, readOnly: true }
        {{- include "holdpoint.certificate-mount" $root | trim | nindent 8 }}
  containers:
    - name: {{ .service }}
      image: {{ .image }}
      imagePullPolicy: {{ $root.Values.image.pullPolicy }}
      args: [serve, {{ .service }}]
      env:
        - { name: HOLDPOINT_NATS_URL, valueFrom: { configMapKeyRef: { name: holdpoint-addresses, key: nats } } }
        {{- include "holdpoint.database-settings" .service | nindent 8 }}
        - { name: HOLDPOINT_NATS_SEED_FILE, value: /run/holdpoint/nats.seed }
        - { name: HOLDPOINT_TRUST_FILE, value: /run/holdpoint/trust.json }
        - { name: HOLDPOINT_LOG_LEVEL, value: {{ $root.Values.logLevel }} }
        - { name: HOLDPOINT_METRICS_PORT, value: '8081' }
        {{- .env | trim | nindent 8 }}
        {{- range $key, $value := .values.settings }}
        - { name: {{ $key }}, value: {{ $value | toString | quote }} }
        {{- end }}
        {{- with $root.Values.tracing.endpoint }}
        - { name: OTEL_EXPORTER_OTLP_ENDPOINT, value: {{ . }} }
        - { name: OTEL_TRACES_SAMPLER, value: parentbased_traceidratio }
        - { name: OTEL_TRACES_SAMPLER_ARG, value: {{ $root.Values.tracing.share | quote }} }
        {{- end }}
        {{- include "holdpoint.certificate-setting" $root | trim | nindent 8 }}
      ports:
        - { name: http, containerPort: 8080 }
        - { name: metrics, containerPort: 8081 }
      # The service answers only after it has connected to the bus.
      startupProbe:
        httpGet: { path: /healthz, port: http }
        periodSeconds: 2
        timeoutSeconds: 4
        failureThreshold: 90
      livenessProbe:
        httpGet: { path: /healthz, port: http }
        periodSeconds: 10
        timeoutSeconds: 4
        failureThreshold: 3
      readinessProbe:
        httpGet: { path: /readyz, port: http }
        periodSeconds: 5
        timeoutSeconds: 4
        failureThreshold: 3
      {{- with .preStop }}
      # Load balancers need a moment to remove the pod.
      lifecycle: { preStop: { sleep: { seconds: {{ . }} } } }
      {{- end }}
      resources: {{ toJson .values.resources }}
      {{- include "holdpoint.container" . | nindent 6 }}
      volumeMounts:
        - { name: secrets, mountPath: /run/holdpoint, readOnly: true }
        - { name: tmp, mountPath: /tmp }
        {{- .mounts | trim | nindent 8 }}
        {{- include "holdpoint.certificate-mount" $root | trim | nindent 8 }}
  volumes:
    - name: secrets
      secret: { secretName: {{ index $root.Values.secrets .service }}, defaultMode: 288 }
    - name: tmp
      emptyDir: { sizeLimit: {{ .tmp }} }
    {{- .volumes | trim | nindent 4 }}
    {{- include "holdpoint.certificate-volume" $root | trim | nindent 4 }}
{{- end -}}

{{/* One at a time may stop. Expects: name, labels. */}}
{{- define "holdpoint.budget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels: { app.kubernetes.io/part-of: holdpoint, app.kubernetes.io/component: service }
spec:
  maxUnavailable: 1
  # A pod that is not ready must not block the drain of a node.
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- .labels | nindent 6 }}
{{- end -}}
