{{/* Names and labels. */}}

{{/* The beginning of all names. */}}
{{- define "meguri.name" -}}
{{- $name := include "meguri.appName" . -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride }}
{{- else if contains $name .Release.Name -}}
{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" (.Release.Name | trunc (int (sub 39 (len $name))) | trimSuffix "-") $name }}
{{- end -}}
{{- end }}

{{- define "meguri.appName" -}}
{{ .Values.nameOverride | default "meguri" }}
{{- end }}

{{/* The label of a release in Prometheus, which may scrape others as well. */}}
{{- define "meguri.release" -}}
{{ printf "%s/%s" .Release.Namespace .Release.Name }}
{{- end }}

{{/* A file with links, which begin as the values say. Takes a dict of root and file. */}}
{{- define "meguri.linked" -}}
{{- $links := .root.Values.monitoring.links -}}
{{- .root.Files.Get .file
  | replace "https://docs.example" $links.docs
  | replace "https://grafana.example" $links.grafana
  | replace "https://temporal.example/namespaces/default" $links.temporal -}}
{{- end }}

{{/* What selects the pods of a component. Takes a dict of root and component. */}}
{{- define "meguri.selector" -}}
app.kubernetes.io/name: {{ include "meguri.appName" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "meguri.labels" -}}
{{ include "meguri.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{/* Metadata of an object. Takes a dict of root, component and, optionally, suffix or name. */}}
{{- define "meguri.metadata" -}}
{{- $name := printf "%s-%s%s" (include "meguri.name" .root) .component (.suffix | default "") -}}
name: {{ .name | default $name }}
namespace: {{ .root.Release.Namespace }}
labels:
  {{- include "meguri.labels" . | nindent 2 }}
{{- end }}

{{/* The service account of a component: an own one, the one that is named, or the namespace's. */}}
{{- define "meguri.serviceAccountName" -}}
{{- $account := (get .root.Values .component).serviceAccount -}}
{{- $own := printf "%s-%s" (include "meguri.name" .root) .component -}}
{{ $account.name | default ($account.create | ternary $own "default") }}
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
