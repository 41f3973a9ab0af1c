{{/* What the pods of all processes have in common. */}}

{{/*
The values of the pods of a component, as YAML: those for all pods, and on top of them its own. Own
objects are laid over by their keys; own lists and texts replace.
*/}}
{{- define "meguri.podValues" -}}
{{- $own := get .root.Values .component }}
{{- $values := dict }}
{{- range $name := list "podLabels" "podAnnotations" "nodeSelector" "tolerations" "affinity"
  "topologySpreadConstraints" "priorityClassName" "podSecurityContext" "securityContext"
  "extraEnv" "extraEnvFrom" "extraVolumes" "extraVolumeMounts" }}
{{- $value := get $.root.Values $name }}
{{- if kindIs "map" $value }}
{{- $value = deepCopy $value }}
{{- range $key, $each := get $own $name | default dict }}
{{- $_ := set $value $key $each }}
{{- end }}
{{- else if get $own $name }}
{{- $value = get $own $name }}
{{- end }}
{{- $_ := set $values $name $value }}
{{- end }}
{{- toYaml $values }}
{{- end }}

{{/* Metadata of every pod. Takes a dict of root and component. */}}
{{- define "meguri.podMetadata" -}}
{{- $values := include "meguri.podValues" . | fromYaml -}}
labels:
  {{- include "meguri.labels" . | nindent 2 }}
  {{- with $values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with $values.podAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Fields of every pod but its containers. Takes a dict of root and component. */}}
{{- define "meguri.pod" -}}
{{- $values := include "meguri.podValues" . | fromYaml -}}
serviceAccountName: {{ include "meguri.serviceAccountName" . }}
automountServiceAccountToken: false
# Kubernetes would add variables such as MEGURI_PORT for services of this name.
enableServiceLinks: false
{{- with $values.podSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- range $name := list "nodeSelector" "tolerations" "affinity" "priorityClassName" }}
{{- with get $values $name }}
{{ $name }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- $volumes := include "meguri.volumes" (dict "root" .root "process" .component) }}
{{- if or $volumes $values.extraVolumes }}
volumes:
  {{- $volumes | nindent 2 }}
  {{- with $values.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
{{- end }}

{{/*
Fields of every container but its name, command and probes. Takes a dict of root, component (whose
image and resources it has) and process (whose variables and files it has).
*/}}
{{- define "meguri.container" -}}
{{- include "meguri.checkExtras" . }}
{{- $own := get .root.Values .component }}
{{- $values := include "meguri.podValues" . | fromYaml }}
{{- $tag := $own.imageTag | default .root.Values.image.tag }}
image: {{ printf "%s:%s" .root.Values.image.repository $tag | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
{{- with $values.securityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
env:
  {{- include "meguri.env" . | nindent 2 }}
  {{- with $values.extraEnv }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with $values.extraEnvFrom }}
envFrom:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- $mounts := include "meguri.volumeMounts" . }}
{{- if or $mounts $values.extraVolumeMounts }}
volumeMounts:
  {{- $mounts | nindent 2 }}
  {{- with $values.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
resources:
  {{- toYaml $own.resources | nindent 2 }}
{{- end }}

{{/*
Refuses what would silently take the place of what the chart sets: a variable that is set twice, of
which the last one holds, and volumes over files of the image or of the chart.
*/}}
{{- define "meguri.checkExtras" -}}
{{- $values := include "meguri.podValues" . | fromYaml }}
{{- range $values.extraEnv }}
{{- if or (get $.root.Values.config .name) (get $.root.Values.secrets .name) }}
{{- fail (printf "extraEnv: %s is in config or secrets already" .name) }}
{{- end }}
{{- end }}
{{- $paths := list }}
{{- range concat .root.Values.worker.mounts .root.Values.events.mounts }}{{ $paths = append $paths .path }}{{ end }}
{{- range $values.extraVolumeMounts }}{{ $paths = append $paths .mountPath }}{{ end }}
{{- range $paths }}
{{- if regexMatch `^/*(etc(/meguri)?|(meguri|etc/meguri/(secrets|config))(/.*)?)?/*$` . }}
{{- fail (printf "mounts and extraVolumeMounts: %s is for files of the image and of the chart" .) }}
{{- end }}
{{- end }}
{{- end }}

{{/* Spreads the pods of a component: a constraint without a selector is about these pods. */}}
{{- define "meguri.spread" -}}
{{- $constraints := (include "meguri.podValues" . | fromYaml).topologySpreadConstraints -}}
{{- range $constraints }}
{{- if not .labelSelector }}
{{- $_ := set . "labelSelector" (dict "matchLabels" (include "meguri.selector" $ | fromYaml)) }}
{{- end }}
{{- end -}}
topologySpreadConstraints:
  {{- toYaml $constraints | nindent 2 }}
{{- end }}

{{/* The drain in whole seconds, rounded up. */}}
{{- define "meguri.drainSeconds" -}}
{{- $text := include "meguri.text" (get .Values.config "MEGURI_DRAIN_SECONDS") -}}
{{- ceil ($text | default "20" | float64) | int64 -}}
{{- end }}
