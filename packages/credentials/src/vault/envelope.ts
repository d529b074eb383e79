/**
 * Encrypts the stored secrets of users. Each text is encrypted under a random key of its own, and that key under a named key of the gateway, so that the gateway's key can be
 * replaced without users signing in again. A text can be decrypted only in its place: for its user, server and issuer.
 */
import { randomBytes } from 'node:crypto';
import { objectIn, openSealed, sealBytes, sealingKeyBytes } from '@omnibus/protocol';
import type { KeyRing } from './key-ring.ts';

const version = 1;

/** The place of a stored text, and its purpose. */
export interface Place {
  readonly purpose: 'connection' | 'client' | 'ticket' | 'sign-in' | 'pending';
  readonly server: string;
  readonly principal: string;
}

interface Envelope {
  readonly version: number;
  /** Name of the key under which the text's own key is encrypted. */
  readonly key: string;
  readonly issuer: string;
  readonly wrapped: string;
  readonly sealed: string;
}

export class Envelopes {
  readonly keys: KeyRing;

  constructor(keys: KeyRing) {
    this.keys = keys;
  }

  seal(place: Place, issuer: string, text: string): string {
    const own = randomBytes(sealingKeyBytes);
    return this.#written(place, issuer, own, sealBytes(own, about(place, issuer), Buffer.from(text)));
  }

  /** Decrypts a text. @returns undefined for a text that is no envelope, or was encrypted for another place or under a key that is gone. */
  open(place: Place, envelope: string): string | undefined {
    const opened = this.#open(place, envelope);
    return opened === undefined
      ? undefined
      : openSealed([opened.own], about(place, opened.issuer), opened.sealed)?.toString();
  }

  /** The envelope of the same text under the key that encrypts now. @returns undefined when it is under that key already, or cannot be decrypted. */
  renewed(place: Place, envelope: string): string | undefined {
    const opened = this.#open(place, envelope);
    return opened === undefined || opened.key === this.keys.sealing.id
      ? undefined
      : this.#written(place, opened.issuer, opened.own, opened.sealed);
  }

  /** The unencrypted parts of an envelope: the name of its key and the issuer. @returns undefined for a text that is no envelope. */
  labelOf(envelope: string): { readonly key: string; readonly issuer: string } | undefined {
    const found = read(envelope);
    return found === undefined ? undefined : { key: found.key, issuer: found.issuer };
  }

  #written(place: Place, issuer: string, own: Buffer, sealed: string): string {
    const { id, key } = this.keys.sealing;
    return JSON.stringify({
      version,
      key: id,
      issuer,
      wrapped: sealBytes(key, `${id} ${about(place, issuer)}`, own),
      sealed,
    } satisfies Envelope);
  }

  #open(
    place: Place,
    text: string,
  ): { readonly own: Buffer; readonly issuer: string; readonly sealed: string; readonly key: string } | undefined {
    const envelope = read(text);
    if (envelope === undefined) return undefined;
    const { version: written, key: id, issuer, wrapped, sealed } = envelope;
    const known = written === version ? this.keys.find(id) : undefined;
    if (known === undefined) return undefined;
    const own = openSealed([known.key], `${id} ${about(place, issuer)}`, wrapped);
    return own === undefined ? undefined : { own, issuer, sealed, key: id };
  }
}

/** @returns undefined for a text that is no envelope: every writer of the store can write anything. */
function read(text: string): Envelope | undefined {
  const value = objectIn(text);
  return ['key', 'issuer', 'wrapped', 'sealed'].every((part) => typeof value?.[part] === 'string')
    ? (value as unknown as Envelope)
    : undefined;
}

/** The data that an envelope is bound to, encoded so that no part can be mistaken for another. */
function about({ purpose, server, principal }: Place, issuer: string): string {
  return JSON.stringify(['omnibus', version, purpose, principal, server, issuer]);
}
