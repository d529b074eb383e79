{{- define "nats.name" -}}
{{- .Values.fullnameOverride | default (printf "%s-nats" .Release.Name) }}
{{- end }}

{{- define "nats.usersSecret" -}}
{{- .Values.users.existingSecret | default (printf "%s-users" (include "nats.name" .)) }}
{{- end }}

{{- define "nats.tlsSecret" -}}
{{- .Values.tls.existingSecret | default (printf "%s-tls" (include "nats.name" .)) }}
{{- end }}

{{/* Passwords and certificates as they are: nodes are replaced, one by one, when they change with an upgrade. */}}
{{- define "nats.secretsDigest" -}}
{{- $data := list }}
{{- range $name := list (include "nats.usersSecret" .) (include "nats.tlsSecret" .) }}
{{- $secret := lookup "v1" "Secret" $.Release.Namespace $name }}
{{- $data = append $data (ternary $secret.data dict (hasKey $secret "data")) }}
{{- end }}
{{- $data | toJson | sha256sum }}
{{- end }}
