import { hash } from 'node:crypto';

/** SHA-256 of a text or of bytes, base64url. */
export function sha256(data: string | Buffer): string {
  return hash('sha256', data, 'base64url');
}
