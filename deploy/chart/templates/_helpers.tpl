{{/* Labels, names, the configuration and the parts of Pods. */}}

{{/* Paths in the containers. */}}
{{- define "party.paths" -}}
configuration: /etc/ciphermill
tls: /run/ciphermill/tls
data: /data
storage: /var/lib/ciphermill
{{- end }}

{{/* Labels that select the Pods of a component: a dict of `root` and `component`. */}}
{{- define "party.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/* Labels of every object: a dict of `root` and `component`. */}}
{{- define "party.labels" -}}
{{ include "party.selector" . }}
app.kubernetes.io/part-of: ciphermill
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version | replace "+" "_" }}
{{- end }}

{{/* Labels of the objects of the party. */}}
{{- define "party.metadata" -}}
{{ include "party.labels" (dict "root" . "component" "party") }}
{{- end }}

{{/* The only role without a port: the guest connects to all other parties. */}}
{{- define "party.listens" -}}
{{- if ne .Values.party.role "guest" }}true{{ end }}
{{- end }}

{{- define "party.image" -}}
{{- with .Values.image -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{- define "party.claim" -}}
{{ .Values.storage.existingClaim | default .Release.Name }}
{{- end }}

{{- define "party.ray" -}}
{{ .Release.Name }}-ray
{{- end }}

{{/* The address for clients of the Ray cluster: KubeRay names the Service of the head. */}}
{{- define "party.rayAddress" -}}
ray://{{ include "party.ray" . }}-head-svc:10001
{{- end }}

{{/* Copies fields `from` a map `into` another one. TOML distinguishes integers and floats; Helm has only one kind of number. */}}
{{- define "party.fill" -}}
{{- range $key, $value := .from }}
{{- if has $key (list "max_iter" "batch_size" "seed" "restarts" "max_bytes" "actors" "blocks" "threads") }}
{{- $value = int64 $value }}
{{- else if has $key (list "C" "tol" "learning_rate" "deadline") }}
{{- $value = float64 $value }}
{{- else if and (eq $key "positive") (not (kindIs "string" $value)) (not (kindIs "bool" $value)) (eq (float64 (int64 $value)) (float64 $value)) }}
{{- $value = int64 $value }}
{{- end }}
{{- $_ := set $.into $key $value }}
{{- end }}
{{- end }}

{{/* The file party.toml. */}}
{{- define "party.toml" -}}
{{- $paths := include "party.paths" . | fromYaml }}
{{- $values := .Values }}
{{- $place := printf "%s/%s" $paths.storage $values.run }}
{{- $party := dict "name" $values.party.name "role" $values.party.role "state" (printf "%s/state" $place) "output" (printf "%s/output" $place) }}
{{- if $values.metrics.enabled }}
{{- $_ := set $party "metrics" "0.0.0.0:9464" }}
{{- end }}
{{- $tls := dict "certificate" (printf "%s/tls.crt" $paths.tls) "key" (printf "%s/tls.key" $paths.tls) "authority" (printf "%s/ca.crt" $paths.tls) }}
{{- $peers := list }}
{{- range $values.peers }}
{{- $peers = append $peers (pick . "name" "role" "address" "certificate_name" "pin") }}
{{- end }}
{{- $training := dict }}
{{- include "party.fill" (dict "into" $training "from" $values.training) }}
{{- $file := dict "party" $party "tls" $tls "peers" $peers "training" $training }}
{{- if include "party.listens" . }}
{{- $_ := set $file "listen" (dict "address" "0.0.0.0:7443") }}
{{- end }}
{{- if ne $values.party.role "arbiter" }}
{{- $data := dict }}
{{- include "party.fill" (dict "into" $data "from" (omit $values.data "volume")) }}
{{- $_ := set $data "file" (printf "%s/%s" $paths.data $values.data.file) }}
{{- $_ := set $file "data" $data }}
{{- end }}
{{- if $values.ray.enabled }}
{{- $ray := dict "address" (include "party.rayAddress" .) }}
{{- include "party.fill" (dict "into" $ray "from" (pick $values.ray "actors" "blocks" "threads")) }}
{{- $_ := set $file "ray" $ray }}
{{- end }}
{{- mustToToml $file }}
{{- end }}

{{/* Pod settings of the Pod Security Standard "restricted". */}}
{{- define "party.podSecurity" -}}
runAsNonRoot: true
runAsUser: {{ int64 .Values.user }}
runAsGroup: {{ int64 .Values.user }}
fsGroup: {{ int64 .Values.user }}
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "party.containerSecurity" -}}
allowPrivilegeEscalation: false
privileged: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{/* Fields that all Pods have. */}}
{{- define "party.pod" -}}
serviceAccountName: {{ .Release.Name }}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  {{- include "party.podSecurity" . | nindent 2 }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The volume `data`. Files of a Secret are for the user of the Pod. */}}
{{- define "party.dataVolume" -}}
- name: data
  {{- with .Values.data.volume }}
  {{- if .secret }}
  secret:
    secretName: {{ .secret }}
    defaultMode: 256 # 0400
  {{- else }}
  persistentVolumeClaim:
    claimName: {{ .persistentVolumeClaim }}
    readOnly: true
  {{- end }}
  {{- end }}
{{- end }}

{{/* The template of the party's Pod. */}}
{{- define "party.template" -}}
{{- $paths := include "party.paths" . | fromYaml }}
{{- $hasData := ne .Values.party.role "arbiter" }}
metadata:
  labels:
    {{- include "party.metadata" . | nindent 4 }}
  annotations:
    checksum/configuration: {{ include "party.toml" . | sha256sum }}
spec:
  {{- include "party.pod" . | nindent 2 }}
  restartPolicy: Never
  initContainers:
    # The files of a Secret are symbolic links to files of root. The party needs a key that only its user can read.
    - name: tls
      image: {{ include "party.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      command:
        - install
        - --mode=0400
        - --target-directory={{ $paths.tls }}
        - /secret/tls.crt
        - /secret/tls.key
        - /secret/ca.crt
      securityContext:
        {{- include "party.containerSecurity" . | nindent 8 }}
      resources:
        requests: {cpu: 10m, memory: 64Mi}
        limits: {memory: 64Mi}
      volumeMounts:
        - {name: tls-secret, mountPath: /secret, readOnly: true}
        - {name: tls, mountPath: {{ $paths.tls }}}
    {{- if .Values.ray.enabled }}
    # The party does not wait for a cluster that starts at the same time.
    - name: ray
      image: {{ include "party.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      command:
        - python
        - -c
        - |
          {{- .Files.Get "files/wait_for_ray.py" | nindent 10 }}
        - {{ include "party.rayAddress" . }}
        # The workers and the head.
        - {{ add1 .Values.ray.workers | quote }}
      env:
        - {name: HOME, value: /tmp}
        {{- include "party.rayEnvironment" . | nindent 8 }}
      securityContext:
        {{- include "party.containerSecurity" . | nindent 8 }}
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      volumeMounts:
        - {name: tmp, mountPath: /tmp}
    {{- end }}
  containers:
    - name: party
      image: {{ include "party.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      command: [ciphermill-party, {{ $paths.configuration }}/party.toml]
      env:
        - {name: HOME, value: /tmp}
        {{- if .Values.ray.enabled }}
        {{- include "party.rayEnvironment" . | nindent 8 }}
        {{- end }}
      ports:
        {{- if include "party.listens" . }}
        - {name: grpc, containerPort: 7443, protocol: TCP}
        {{- end }}
        {{- if .Values.metrics.enabled }}
        - {name: metrics, containerPort: 9464, protocol: TCP}
        {{- end }}
      {{- if include "party.listens" . }}
      # The port opens when the data is read.
      readinessProbe:
        tcpSocket: {port: grpc}
        periodSeconds: 5
      {{- end }}
      {{- if .Values.metrics.enabled }}
      # The metrics are served from the start. A product may use all cores: only a silence of five minutes ends the container.
      livenessProbe:
        httpGet: {port: metrics, path: /healthz}
        initialDelaySeconds: 30
        periodSeconds: 30
        timeoutSeconds: 10
        failureThreshold: 10
      {{- end }}
      securityContext:
        {{- include "party.containerSecurity" . | nindent 8 }}
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      volumeMounts:
        - {name: configuration, mountPath: {{ $paths.configuration }}, readOnly: true}
        - {name: tls, mountPath: {{ $paths.tls }}, readOnly: true}
        {{- if $hasData }}
        - {name: data, mountPath: {{ $paths.data }}, readOnly: true}
        {{- end }}
        - {name: storage, mountPath: {{ $paths.storage }}}
        - {name: tmp, mountPath: /tmp}
  volumes:
    - name: configuration
      configMap:
        name: {{ .Release.Name }}
        defaultMode: 292 # 0444
    - name: tls-secret
      secret:
        secretName: {{ .Values.tls.secret }}
        defaultMode: 256 # 0400
        # Without one of these the Pod waits, and its events name the missing file.
        items:
          - {key: tls.crt, path: tls.crt}
          - {key: tls.key, path: tls.key}
          - {key: ca.crt, path: ca.crt}
    - name: tls
      emptyDir: {medium: Memory, sizeLimit: 1Mi}
    {{- if $hasData }}
    {{- include "party.dataVolume" . | nindent 4 }}
    {{- end }}
    - name: storage
      persistentVolumeClaim:
        claimName: {{ include "party.claim" . }}
    - name: tmp
      emptyDir: {sizeLimit: 256Mi}
{{- end }}

{{/* Variables of Ray in all containers that use it. */}}
{{- define "party.rayEnvironment" -}}
- {name: RAY_USAGE_STATS_ENABLED, value: "0"}
- {name: RAY_AUTH_MODE, value: token}
- name: RAY_AUTH_TOKEN
  valueFrom:
    secretKeyRef: {name: {{ .Values.ray.tokenSecret }}, key: token}
{{- end }}

{{/* The addresses of a peer as a list of NetworkPolicy peers. */}}
{{- define "party.networkOf" -}}
{{- range .cidrs }}
- ipBlock:
    cidr: {{ . | quote }}
{{- end }}
{{- range .namespaces }}
- namespaceSelector:
    matchLabels:
      kubernetes.io/metadata.name: {{ . }}
{{- end }}
{{- end }}

{{/* An egress rule to the name servers of the cluster. */}}
{{- define "party.dnsRule" -}}
{{- with .Values.networkPolicy.dns -}}
- to:
    - namespaceSelector:
        matchLabels:
          kubernetes.io/metadata.name: {{ .namespace }}
      podSelector:
        matchLabels:
          {{- toYaml .podLabels | nindent 10 }}
    {{- range .cidrs }}
    - ipBlock:
        cidr: {{ . | quote }}
    {{- end }}
  ports:
    - {port: 53, protocol: UDP}
    - {port: 53, protocol: TCP}
{{- end }}
{{- end }}
