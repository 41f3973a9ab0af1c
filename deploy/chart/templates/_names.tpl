{{/* Names and labels. */}}

{{- define "meguri.name" -}}
{{- if contains "meguri" .Release.Name -}}
{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-meguri" (.Release.Name | trunc 33 | trimSuffix "-") }}
{{- end -}}
{{- end }}

{{/* What selects the pods of a component. Takes a dict of root and component. */}}
{{- define "meguri.selector" -}}
app.kubernetes.io/name: meguri
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "meguri.labels" -}}
{{ include "meguri.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{/* Metadata of an object. Takes a dict of root, component and, optionally, suffix. */}}
{{- define "meguri.metadata" -}}
name: {{ include "meguri.name" .root }}-{{ .component }}{{ .suffix | default "" }}
namespace: {{ .root.Release.Namespace }}
labels:
  {{- include "meguri.labels" . | nindent 2 }}
{{- end }}

{{/*
Annotations of what the setup job needs. It is there before the job, and stays after it: Helm would
delete it under a job that fails and is looked at.
*/}}
{{- define "meguri.beforeSetup" -}}
helm.sh/hook: pre-install,pre-upgrade
helm.sh/hook-weight: "-10"
helm.sh/hook-delete-policy: before-hook-creation
{{- end }}
