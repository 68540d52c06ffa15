{{/* The pod of a server or a worker. Call with (dict "root" $ "role" "server" "resources" …). */}}
{{- define "graticule.pod" -}}
{{- $values := .root.Values -}}
metadata:
  labels: {{- include "graticule.labels" (list .root .role) | nindent 4 }}
  annotations:
    # Other settings are other pods.
    checksum/config: {{ toYaml $values.config | sha256sum }}
    {{- with $values.podAnnotations }}{{ toYaml . | nindent 4 }}{{ end }}
spec:
  serviceAccountName: {{ include "graticule.name" .root }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ add $values.drainSeconds $values.stopSeconds }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile: { type: RuntimeDefault }
  {{- with $values.imagePullSecrets }}
  imagePullSecrets: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.affinity }}
  affinity: {{- toYaml . | nindent 4 }}
  {{- end }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels: {{- include "graticule.selector" (list .root .role) | nindent 10 }}
  containers:
    - name: graticule
      image: "{{ $values.image.repository }}:{{ $values.image.tag | default .root.Chart.AppVersion }}"
      imagePullPolicy: {{ $values.image.pullPolicy }}
      args: [{{ if eq .role "worker" }}worker{{ else }}serve{{ end }}, --config, /etc/graticule/graticule.yaml, --port, "8080"]
      {{- with $values.secretName }}
      envFrom:
        - secretRef: { name: {{ . }} }
      {{- end }}
      {{- with .env }}
      env: {{- toYaml . | nindent 8 }}
      {{- end }}
      ports:
        - { name: http, containerPort: 8080 }
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: { drop: [ALL] }
      startupProbe:
        httpGet: { path: /healthz/live, port: http }
        periodSeconds: 2
        failureThreshold: 150
      livenessProbe:
        httpGet: { path: /healthz/live, port: http }
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet: { path: {{ $values.readinessPath }}, port: http }
        periodSeconds: 5
        timeoutSeconds: 5
        failureThreshold: 2
      lifecycle:
        preStop:
          exec: { command: [sleep, {{ $values.drainSeconds | quote }}] }
      resources: {{- toYaml .resources | nindent 8 }}
      volumeMounts:
        - { name: config, mountPath: /etc/graticule, readOnly: true }
        - { name: data, mountPath: /var/lib/graticule }
        - { name: temporary, mountPath: /tmp }
        {{- if $values.files.existingClaim }}
        - { name: files, mountPath: /data, readOnly: {{ $values.files.readOnly }} }
        {{- end }}
  volumes:
    - name: config
      configMap: { name: {{ include "graticule.name" .root }} }
    - name: temporary
      emptyDir: { sizeLimit: {{ $values.temporary.sizeLimit }} }
    {{- if not .keepsData }}
    - name: data
      emptyDir: {}
    {{- end }}
    {{- with $values.files.existingClaim }}
    - name: files
      persistentVolumeClaim: { claimName: {{ . }}, readOnly: {{ $values.files.readOnly }} }
    {{- end }}
{{- end }}
