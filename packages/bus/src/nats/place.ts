/**
 * Where an installation is on a NATS that others use too. Everything it says and stores begins with its prefix, so that several installations
 * are on one account without seeing each other; and its JetStream may be that of another domain, as behind a leaf node.
 */
import { jetstream, type JetStreamManagerOptions } from '@nats-io/jetstream';
import { Kvm } from '@nats-io/kv';
import type { NatsConnection } from '@nats-io/transport-node';

export interface NatsPlace {
  /** First token of every subject, and beginning of the name of every bucket and stream. */
  readonly prefix: string;
  /** Of JetStream; undefined for that of the server that a process is connected to. */
  readonly domain?: string | undefined;
  /** Where this process runs; those of the same region are asked first. */
  readonly region?: string | undefined;
}

/** What names begin with in our own tables. */
const ownPrefix = 'omnibus';

export const usualPlace: NatsPlace = { prefix: ownPrefix };

/** A subject, bucket or stream of ours, as it is called there. */
export function nameAt({ prefix }: NatsPlace, name: string): string {
  return prefix === ownPrefix ? name : prefix + name.slice(ownPrefix.length);
}

/** Under which JetStream is asked (NATS, JetStream domains). */
export function apiAt({ domain }: NatsPlace): string {
  return domain === undefined ? '$JS.API' : `$JS.${domain}.API`;
}

export function managerOptions({ domain }: NatsPlace): JetStreamManagerOptions {
  return { checkAPI: false, ...(domain === undefined ? {} : { domain }) };
}

export function bucketsAt(connection: NatsConnection, place: NatsPlace): Kvm {
  return new Kvm(jetstream(connection, managerOptions(place)));
}
