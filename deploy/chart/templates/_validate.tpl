{{/* Rules that join several values. values.schema.json has the bounds of each value. */}}

{{- define "party.validate" -}}
{{- $values := .Values }}
{{- $role := $values.party.role }}
{{- if not (regexMatch "^[a-z]([a-z0-9-]*[a-z0-9])?$" .Release.Name) }}
{{- fail (printf "the release name %s is not supported; use lower-case letters, digits and hyphens, with a letter first" .Release.Name) }}
{{- end }}

{{- if and (hasKey $values.image "digest") (hasKey $values.image "tag") }}
{{- fail "image.tag and image.digest are both set; use one of them" }}
{{- end }}

{{- $names := list $values.party.name }}
{{- $guests := 0 }}
{{- $arbiters := 0 }}
{{- $hosts := 0 }}
{{- range $index, $peer := $values.peers }}
{{- $field := printf "peers[%d]" $index }}
{{- if has $peer.name $names }}
{{- fail (printf "%s.name: %s is the name of another party; use a different name for each party" $field $peer.name) }}
{{- end }}
{{- $names = append $names $peer.name }}
{{- if eq $peer.role $role }}
{{- fail (printf "%s.role: a peer of this %s does not have the role %s; use %s" $field $role $peer.role (get (dict "guest" "host or arbiter" "host" "guest or arbiter" "arbiter" "guest or host") $role)) }}
{{- end }}
{{- if eq $peer.role "guest" }}{{ $guests = add1 $guests }}{{ end }}
{{- if eq $peer.role "arbiter" }}{{ $arbiters = add1 $arbiters }}{{ end }}
{{- if eq $peer.role "host" }}{{ $hosts = add1 $hosts }}{{ end }}
{{- /* The guest connects to all, hosts connect to the arbiter. */}}
{{- if or (eq $role "guest") (eq $peer.role "arbiter") }}
{{- if not $peer.address }}
{{- fail (printf "%s.address is not set; this %s connects to %s: use name:port" $field $role $peer.name) }}
{{- end }}
{{- else if $peer.address }}
{{- fail (printf "%s.address is set, but %s connects to this %s; remove it" $field $peer.name $role) }}
{{- end }}
{{- if and $values.networkPolicy.enabled (not $peer.network) }}
{{- fail (printf "%s.network is not set; the NetworkPolicy needs the addresses of %s: use network.cidrs or network.namespaces" $field $peer.name) }}
{{- end }}
{{- end }}
{{- if and (ne $role "guest") (ne (int $guests) 1) }}
{{- fail (printf "peers: %d guests are not supported; use one" (int $guests)) }}
{{- end }}
{{- if gt (int $arbiters) 1 }}
{{- fail (printf "peers: %d arbiters are not supported; use 0 to 1" (int $arbiters)) }}
{{- end }}
{{- if and (ne $role "host") (eq (int $hosts) 0) }}
{{- fail (printf "peers: no host is listed; this %s needs one at least" $role) }}
{{- end }}
{{- if and (eq $role "guest") (gt (int $hosts) 1) (eq (int $arbiters) 0) }}
{{- fail (printf "peers: %d hosts without an arbiter are not supported; add an arbiter" (int $hosts)) }}
{{- end }}

{{- if eq $role "arbiter" }}
{{- range $key := list "file" "id" "label" "positive" "features" "fit_intercept" "allow_training_scores" "max_bytes" "volume" }}
{{- if hasKey $values.data $key }}
{{- fail (printf "data.%s is set, but an arbiter has no data; remove it" $key) }}
{{- end }}
{{- end }}
{{- if $values.ray.enabled }}
{{- fail "ray.enabled is true, but an arbiter has no matrix; use false" }}
{{- end }}
{{- else }}
{{- range $key := list "file" "volume" }}
{{- if not (hasKey $values.data $key) }}
{{- fail (printf "data.%s is not set; a %s needs it" $key $role) }}
{{- end }}
{{- end }}
{{- if and (eq $values.data.align "psi") (not (hasKey $values.data "id")) }}
{{- fail "data.id is not set; psi needs the column of identifiers: set it, or use data.align none" }}
{{- end }}
{{- if and (eq $role "guest") (not (hasKey $values.data "label")) }}
{{- fail "data.label is not set; a guest needs the name of the column of labels" }}
{{- end }}
{{- range $key := ternary (list "label" "positive" "fit_intercept") (list "allow_training_scores") (eq $role "host") }}
{{- if hasKey $values.data $key }}
{{- fail (printf "data.%s is set, but it is for a %s; remove it from this %s" $key (ternary "guest" "host" (eq $role "host")) $role) }}
{{- end }}
{{- end }}
{{- end }}

{{- if and $values.metrics.serviceMonitor.enabled (not $values.metrics.enabled) }}
{{- fail "metrics.serviceMonitor.enabled is true, but metrics.enabled is false; set both" }}
{{- end }}
{{- if $values.ray.enabled }}
{{- if not (hasKey $values.ray "version") }}
{{- fail "ray.version is not set; use the version of Ray in the image" }}
{{- end }}
{{- if not (hasKey $values.ray "tokenSecret") }}
{{- fail "ray.tokenSecret is not set; use the name of a Secret with the key token" }}
{{- end }}
{{- if ne $values.training.backend "bfv" }}
{{- fail (printf "ray.enabled is true, but Ray does not compute with training.backend %s; use bfv" $values.training.backend) }}
{{- end }}
{{- /* KubeRay accepts names of clusters of at most 53 characters. */}}
{{- if gt (len .Release.Name) 49 }}
{{- fail (printf "the release name %s has %d characters; use at most 49 with ray.enabled" .Release.Name (len .Release.Name)) }}
{{- end }}
{{- end }}
{{- end }}
