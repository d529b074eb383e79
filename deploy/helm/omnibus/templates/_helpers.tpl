{{- define "omnibus.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}{{ end }}
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

{{- define "omnibus.natsUrl" -}}
{{- if .Values.natsUrl }}{{ .Values.natsUrl }}{{ else if .Values.nats.enabled }}nats://{{ .Release.Name }}-nats:4222{{ else }}{{ fail "give natsUrl, or set nats.enabled: true" }}{{ end }}
{{- end }}

{{/* Not empty where the configuration leaves it to the chart how callers are known. */}}
{{- define "omnibus.usesKeys" -}}
{{- if not (hasKey .Values.config "auth") }}yes{{ end }}
{{- end }}

{{- define "omnibus.apiKeysSecret" -}}
{{- .Values.apiKeys.existingSecret | default (printf "%s-api-keys" (include "omnibus.name" .)) }}
{{- end }}

{{- define "omnibus.sealingSecret" -}}
{{- .Values.sealingKey.existingSecret | default (printf "%s-sealing-key" (include "omnibus.name" .)) }}
{{- end }}
