{{/* What the pods of server, worker and setup have in common. */}}

{{/* Fields of every pod but its containers. Takes a dict of root and component. */}}
{{- define "meguri.pod" -}}
serviceAccountName: {{ include "meguri.name" .root }}-{{ .component }}
automountServiceAccountToken: false
# Kubernetes would add variables such as MEGURI_PORT for services of this name.
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  # The files of Secrets are of this group.
  fsGroup: 1000
  seccompProfile:
    type: RuntimeDefault
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .root.Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with include "meguri.volumes" (dict "root" .root "process" .component) }}
volumes:
  {{- . | nindent 2 }}
{{- end }}
{{- end }}

{{/*
Fields of every container but its name, command and probes. Takes a dict of root, component (whose
image and resources it has) and process (whose variables and files it has).
*/}}
{{- define "meguri.container" -}}
{{- $values := get .root.Values .component }}
{{- $tag := $values.imageTag | default .root.Values.image.tag }}
image: {{ printf "%s:%s" .root.Values.image.repository $tag | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
env:
  {{- include "meguri.env" . | nindent 2 }}
{{- with include "meguri.volumeMounts" . }}
volumeMounts:
  {{- . | nindent 2 }}
{{- end }}
resources:
  {{- toYaml $values.resources | nindent 2 }}
{{- end }}

{{/* Spreads pods over zones and nodes, those of each version by themselves. */}}
{{- define "meguri.spread" -}}
topologySpreadConstraints:
  {{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
  - topologyKey: {{ . }}
    maxSkew: 1
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "meguri.selector" $ | nindent 8 }}
    matchLabelKeys: [pod-template-hash]
  {{- end }}
{{- end }}

{{/* The drain in whole seconds, rounded up. */}}
{{- define "meguri.drainSeconds" -}}
{{- $text := include "meguri.text" (get .Values.config "MEGURI_DRAIN_SECONDS") -}}
{{- ceil ($text | default "20" | float64) | int64 -}}
{{- end }}
