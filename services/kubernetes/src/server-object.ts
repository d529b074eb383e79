/** The Kubernetes objects that name servers and profiles, and the status that the gateway writes to them. */

/** The members of an object that are read. */
export interface ServerObject {
  readonly kind: 'McpServer' | 'McpProfile' | 'Service';
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
  readonly spec: Readonly<Record<string, unknown>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Time of its creation, in ISO 8601. */
  readonly createdAt: string;
  /** Its present status; undefined where none was written yet. */
  readonly status: ObjectStatus | undefined;
}

export interface Condition {
  readonly type: 'Ready' | 'Deployed';
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration: number;
  readonly lastTransitionTime: string;
}

export interface ObjectStatus {
  readonly observedGeneration: number;
  readonly conditions: readonly Condition[];
  /** Number of tools of an `McpServer`. */
  readonly tools?: number;
  readonly revision?: string | null;
  /** Path of an `McpProfile` that is served. */
  readonly endpoint?: string | null;
}
