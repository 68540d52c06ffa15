{{- define "graticule.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{/* Call with (list $ "server"). */}}
{{- define "graticule.selector" -}}
app.kubernetes.io/name: {{ (index . 0).Chart.Name }}
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- define "graticule.labels" -}}
{{ include "graticule.selector" . }}
app.kubernetes.io/version: {{ (index . 0).Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ (index . 0).Release.Service }}
helm.sh/chart: {{ printf "%s-%s" (index . 0).Chart.Name (index . 0).Chart.Version }}
{{- end }}

{{/* Servers that are more than one, and workers, must share a state. */}}
{{- define "graticule.requireSharedState" -}}
{{- $url := dig "state" "url" "" .Values.config }}
{{- if and (not $url) (or (gt (int .Values.replicas) 1) .Values.autoscaling.enabled .Values.worker.enabled (not .Values.persistence.enabled)) }}
{{- fail "config.state.url must name the PostgreSQL database of the state: replicas above 1, autoscaling, workers and servers without persistence need one" }}
{{- end }}
{{- end }}
