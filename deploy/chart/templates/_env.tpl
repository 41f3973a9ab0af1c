{{/*
Variables and files of the processes. A process gets only the files and secrets that it reads: those
of TLS and of callers are the server's, and the events process has its subscriptions and no others of
Meguri.
*/}}

{{/* Whether a process reads a variable: "true" or nothing. Takes a dict of process and name. */}}
{{- define "meguri.reads" -}}
{{- $server := list "MEGURI_JWT_KEY_FILE" "MEGURI_CALLERS_FILE" "MEGURI_TLS_CERT_FILE"
  "MEGURI_TLS_KEY_FILE" "MEGURI_TLS_CLIENT_CA_FILE" -}}
{{- if or (eq .process "events") (eq .name "MEGURI_EVENT_SUBSCRIPTIONS") -}}
{{- $isEvents := eq .process "events" -}}
{{- if and $isEvents (or (eq .name "MEGURI_EVENT_SUBSCRIPTIONS") (regexMatch "^(AWS|OTEL)_" .name)) }}true{{ end -}}
{{- else if has .name $server -}}
{{- if eq .process "server" }}true{{ end -}}
{{- else if eq .name "MEGURI_SLACK_WEBHOOK_URL" -}}
{{- if ne .process "setup" }}true{{ end -}}
{{- else -}}
true
{{- end -}}
{{- end }}

{{/* The folder of the files of one Secret or ConfigMap. Takes an element of the values' files. */}}
{{- define "meguri.folder" -}}
{{- if .secret }}/etc/meguri/secrets/{{ .secret }}{{ else }}/etc/meguri/config/{{ .configMap }}{{ end -}}
{{- end }}

{{/* A value as text: 1000000 and not 1e+06, as YAML would have it. */}}
{{- define "meguri.text" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) }}{{ int64 . }}{{ else }}{{ . }}{{ end -}}
{{- end }}

{{/* The variables of a process. Takes a dict of root and process. */}}
{{- define "meguri.env" -}}
- name: NODE_ENV
  value: production
{{- range $name, $value := .root.Values.config }}
{{- $text := include "meguri.text" $value }}
{{- if $text }}
- name: {{ $name }}
  value: {{ $text | quote }}
{{- end }}
{{- end }}
{{- range $name, $file := .root.Values.files }}
{{- if include "meguri.reads" (dict "process" $.process "name" $name) }}
- name: {{ $name }}
  value: {{ include "meguri.folder" $file }}/{{ $file.key }}
{{- end }}
{{- end }}
{{- range $name, $source := .root.Values.secrets }}
{{- if include "meguri.reads" (dict "process" $.process "name" $name) }}
- name: {{ $name }}
  valueFrom:
    secretKeyRef:
      name: {{ $source.secret }}
      key: {{ $source.key }}
{{- end }}
{{- end }}
{{- end }}

{{/*
The Secrets and ConfigMaps of a process's files, by their folder. Each is one volume, whose files
change together: a certificate and its key. As YAML. Takes a dict of root and process.
*/}}
{{- define "meguri.sources" -}}
{{- $sources := dict }}
{{- range $name, $file := .root.Values.files }}
{{- if include "meguri.reads" (dict "process" $.process "name" $name) }}
{{- $folder := include "meguri.folder" $file }}
{{- $keys := (get $sources $folder | default dict).keys | default list }}
{{- $source := dict "secret" $file.secret "configMap" $file.configMap }}
{{- $_ := set $source "keys" (append $keys $file.key | uniq) }}
{{- $_ := set $sources $folder $source }}
{{- end }}
{{- end }}
{{- toYaml $sources }}
{{- end }}

{{- define "meguri.volumes" -}}
{{- range $folder, $source := include "meguri.sources" . | fromYaml }}
- name: {{ printf "file-%s" (sha256sum $folder | trunc 10) }}
  {{- if $source.secret }}
  secret:
    secretName: {{ $source.secret }}
    defaultMode: 0440
  {{- else }}
  configMap:
    name: {{ $source.configMap }}
    defaultMode: 0440
  {{- end }}
    items:
      {{- range $source.keys }}
      - key: {{ . }}
        path: {{ . }}
      {{- end }}
{{- end }}
{{- if has .process (list "worker" "events") }}
{{- range $index, $mount := (get .root.Values .process).mounts }}
- name: mount-{{ $index }}
  {{- if $mount.secret }}
  secret:
    secretName: {{ $mount.secret }}
    defaultMode: 0440
  {{- else if $mount.configMap }}
  configMap:
    name: {{ $mount.configMap }}
    defaultMode: 0440
  {{- else }}
  persistentVolumeClaim:
    claimName: {{ $mount.persistentVolumeClaim }}
  {{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "meguri.volumeMounts" -}}
{{- range $folder, $_ := include "meguri.sources" . | fromYaml }}
- name: {{ printf "file-%s" (sha256sum $folder | trunc 10) }}
  mountPath: {{ $folder }}
  readOnly: true
{{- end }}
{{- if has .process (list "worker" "events") }}
{{- range $index, $mount := (get .root.Values .process).mounts }}
- name: mount-{{ $index }}
  mountPath: {{ $mount.path }}
  {{- if not $mount.persistentVolumeClaim }}
  readOnly: true
  {{- end }}
{{- end }}
{{- end }}
{{- end }}
