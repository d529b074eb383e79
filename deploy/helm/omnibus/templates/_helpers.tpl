{{- define "omnibus.name" -}}
{{- if .Values.fullnameOverride }}{{ .Values.fullnameOverride | trunc 50 | trimSuffix "-" }}
{{- else }}
{{- $name := .Values.nameOverride | default .Chart.Name }}
{{- if contains $name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}
{{- end }}

{{- define "omnibus.selector" -}}
app.kubernetes.io/name: omnibus
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "omnibus.labels" -}}
{{ include "omnibus.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: omnibus
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{/* Not empty where there is a Prometheus operator to speak to. */}}
{{- define "omnibus.hasOperator" -}}
{{- if or (eq (toString .Values.monitoring.operator) "true") (and (eq (toString .Values.monitoring.operator) "auto") (.Capabilities.APIVersions.Has "monitoring.coreos.com/v1/ServiceMonitor")) }}yes{{ end }}
{{- end }}

{{- define "omnibus.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "omnibus.natsUrl" -}}
{{- if .Values.natsUrl }}{{ .Values.natsUrl }}{{ else if .Values.nats.enabled }}{{ ternary "tls" "nats" .Values.nats.tls.enabled }}://{{ include "omnibus.natsName" . }}:4222{{ else }}{{ fail "give natsUrl, or set nats.enabled: true" }}{{ end }}
{{- end }}

{{/* The chart's own NATS, as its templates name it. */}}
{{- define "omnibus.natsName" -}}
{{- .Values.nats.fullnameOverride | default (printf "%s-nats" .Release.Name) }}
{{- end }}

{{/* Not empty where roles log in at the chart's own NATS. */}}
{{- define "omnibus.natsUsersSecret" -}}
{{- if and .Values.nats.enabled (not .Values.natsUrl) }}{{ .Values.nats.users.existingSecret | default (printf "%s-users" (include "omnibus.natsName" .)) }}{{ end }}
{{- end }}

{{- define "omnibus.natsTlsSecret" -}}
{{- if and .Values.nats.enabled (not .Values.natsUrl) .Values.nats.tls.enabled }}{{ .Values.nats.tls.existingSecret | default (printf "%s-tls" (include "omnibus.natsName" .)) }}{{ end }}
{{- end }}

{{/*
What the Secrets hold that a role is given as environment, as a digest: pods are replaced when it changes with an upgrade. Those that the chart
makes are new with the first installation and stay.
*/}}
{{- define "omnibus.secretsDigest" -}}
{{- $root := index . 0 }}
{{- $data := list }}
{{- range $name := index . 1 }}
{{- $secret := lookup "v1" "Secret" $root.Release.Namespace $name }}
{{- $data = append $data (ternary $secret.data dict (hasKey $secret "data")) }}
{{- end }}
{{- $data | toJson | sha256sum }}
{{- end }}

{{/* Not empty where the configuration leaves it to the chart how callers are known: it says nothing of that, or only who administers the gateway. */}}
{{- define "omnibus.usesKeys" -}}
{{- if not (hasKey .Values.config "auth") }}yes
{{- else if kindIs "map" .Values.config.auth }}{{ if eq (keys .Values.config.auth | join " ") "admin" }}yes{{ end }}
{{- end }}
{{- end }}

{{/* Not empty for a role that has to know callers by keys: edges, and where somebody may administer the gateway, whoever has an admin port. */}}
{{- define "omnibus.readsKeys" -}}
{{- $root := index . 0 }}
{{- if and (include "omnibus.usesKeys" $root) (or (eq (index . 1) "edge") (hasKey $root.Values.config "auth")) }}yes{{ end }}
{{- end }}

{{- define "omnibus.apiKeysSecret" -}}
{{- .Values.apiKeys.existingSecret | default (printf "%s-api-keys" (include "omnibus.name" .)) }}
{{- end }}

{{- define "omnibus.sealingSecret" -}}
{{- .Values.sealingKey.existingSecret | default (printf "%s-sealing-key" (include "omnibus.name" .)) }}
{{- end }}

{{/*
The paths of an Ingress or route, as JSON: all, or those below the path of `config.publicUrl`. The documents about it are at the inserted path (RFC 9728, 3.1;
RFC 8414, 3.1). A variable says nothing of a path.
*/}}
{{- define "omnibus.paths" -}}
{{- $address := .Values.config.publicUrl | default "" }}
{{- $path := contains "${" $address | ternary "" (urlParse $address).path | trimSuffix "/" }}
{{- if $path }}
{{- list $path (printf "/.well-known/oauth-protected-resource%s" $path) (printf "/.well-known/oauth-authorization-server%s" $path) (printf "/.well-known/openid-configuration%s" $path) | toJson }}
{{- else }}["/"]
{{- end }}
{{- end }}

{{/*
The security of a pod. Its numbers of user and groups are those of `global.podSecurityContext`. OpenShift gives each namespace numbers of its own, and refuses
others (SCC restricted-v2), so there the numbers are left to it. The chart of NATS uses this too.
*/}}
{{- define "omnibus.podSecurity" -}}
{{- /* The defaults are here, and not in values.yaml: Helm gives the chart of NATS a default again that `null` has removed. */}}
{{- $numbers := deepCopy (dig "podSecurityContext" dict .Values.global) }}
{{- range list "runAsUser" "runAsGroup" "fsGroup" }}
{{- if not (hasKey $numbers .) }}{{ $_ := set $numbers . 1000 }}{{ else if kindIs "invalid" (index $numbers .) }}{{ $_ := unset $numbers . }}{{ end }}
{{- end }}
{{- if .Capabilities.APIVersions.Has "security.openshift.io/v1" }}{{ $numbers = omit $numbers "runAsUser" "runAsGroup" "fsGroup" }}{{ end }}
{{- merge (dict "runAsNonRoot" true "seccompProfile" (dict "type" "RuntimeDefault")) (deepCopy $numbers) | toYaml }}
{{- end }}
