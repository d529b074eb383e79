/** Images and sounds of a result, shown from a `blob:` URL, and only of types that contain no script. */
import { useLayoutEffect, useState } from 'preact/hooks';
import { bytes } from '../words.ts';

const pictures: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif']);
const sounds: ReadonlySet<string> = new Set([
  'audio/mpeg',
  'audio/mp3',
  'audio/wav',
  'audio/x-wav',
  'audio/ogg',
  'audio/webm',
  'audio/mp4',
  'audio/aac',
  'audio/flac',
]);

/** @param data base64. */
export function Binary({ data, type }: { readonly data: string; readonly type: string }) {
  const kind = type.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  const [address, setAddress] = useState<string>();
  const decoded = decode(data);
  useLayoutEffect(() => {
    if (decoded === undefined) return undefined;
    const made = URL.createObjectURL(
      new Blob([decoded], { type: pictures.has(kind) || sounds.has(kind) ? kind : 'application/octet-stream' }),
    );
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [data, type]);
  if (decoded === undefined)
    return (
      <p class="field-problem">
        What should be {kind} is no base64 ({bytes(data.length)}).
      </p>
    );
  const size = `${kind === '' ? 'no type' : kind.slice(0, 80)}, ${bytes(decoded.length)}`;
  return (
    <figure>
      {address !== undefined && pictures.has(kind) && <img src={address} alt={`a picture the server sent (${size})`} />}
      {address !== undefined && sounds.has(kind) && (
        <audio controls src={address} aria-label={`a sound the server sent (${size})`} />
      )}
      <figcaption class="dim">
        {size}{' '}
        {address !== undefined && (
          <a href={address} download="result">
            save
          </a>
        )}
      </figcaption>
    </figure>
  );
}

function decode(data: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(
      atob(data.replaceAll('-', '+').replaceAll('_', '/')),
      (character) => character.codePointAt(0) as number,
    );
  } catch {
    return undefined; // The caller shows that it is no base64.
  }
}
