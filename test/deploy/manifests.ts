/** Manifests, and whether Kubernetes accepts them according to its schemas. */
import { parseAllDocuments } from 'yaml';
import { ObjectSerializer } from '@kubernetes/client-node/dist/serializer.js';

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly data?: Readonly<Record<string, string>>;
}

type Model = new (manifest: Manifest) => { validate(): void };

/** @throws {Error} for text that is not YAML. */
export function read(text: string): Manifest[] {
  return parseAllDocuments(text)
    .map((document) => {
      for (const error of document.errors) throw error;
      return document.toJS() as Manifest | null;
    })
    .filter((manifest) => manifest !== null);
}

/** @throws {Error} that names the manifest and its field that Kubernetes does not allow. */
export async function check(manifests: readonly Manifest[]): Promise<void> {
  for (const manifest of manifests) {
    await validate(manifest).catch((error: unknown) => {
      throw new Error(`${manifest.kind} ${manifest.metadata.name}: ${(error as Error).message}`);
    });
  }
}

/** @throws {Error} that names the field that the schema of Kubernetes, or of the Prometheus operator, does not allow. */
export async function validate(manifest: Manifest): Promise<void> {
  const of = manifest.apiVersion.includes('monitoring.coreos.com')
    ? '@kubernetes-models/prometheus-operator'
    : 'kubernetes-models';
  const models = (await import(`${of}/${manifest.apiVersion}`)) as Record<string, Model>;
  const model = models[manifest.kind];
  if (model === undefined) throw new Error(`${manifest.apiVersion} has no ${manifest.kind}`);
  new model(manifest).validate();
  const unknown = of === 'kubernetes-models' ? unknownFields(manifest) : [];
  if (unknown.length > 0) throw new Error(`Kubernetes knows no ${unknown.join(', ')}`);
}

/** The fields that the official client, which is made from the same schemas, drops when it reads and writes a manifest. */
function unknownFields(manifest: Manifest): string[] {
  const version = manifest.apiVersion.split('/').at(-1) as string;
  const type = `${version[0]?.toUpperCase()}${version.slice(1)}${manifest.kind}`;
  return dropped(manifest, ObjectSerializer.serialize(ObjectSerializer.deserialize(manifest, type, ''), type, ''), '');
}

function dropped(given: unknown, kept: unknown, path: string): string[] {
  if (typeof given !== 'object' || given === null) return [];
  return Object.entries(given).flatMap(([name, value]) => {
    const rest = (kept as Readonly<Record<string, unknown>> | undefined)?.[name];
    return rest === undefined ? [`${path}.${name}`] : dropped(value, rest, `${path}.${name}`);
  });
}
