/** The size of a picture in pixels, from its first bytes: PNG, GIF, JPEG and WebP. */
const headBytes = 256 * 1024;

/** @param data base64. @returns undefined for another format, and for one that is damaged. */
export function pixelsOf(data: string): { readonly width: number; readonly height: number } | undefined {
  const bytes = Buffer.from(data.slice(0, Math.ceil(headBytes / 3) * 4), 'base64');
  try {
    return sizeIn(bytes);
  } catch (error) {
    // The picture ends too early.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function sizeIn(bytes: Buffer): { readonly width: number; readonly height: number } | undefined {
  if (bytes.toString('latin1', 1, 4) === 'PNG')
    return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
  if (bytes.toString('latin1', 0, 3) === 'GIF') return { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) };
  if (bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP') return sizeOfWebp(bytes);
  return bytes.readUInt16BE(0) === 0xff_d8 ? sizeOfJpeg(bytes) : undefined;
}

function sizeOfWebp(bytes: Buffer): { readonly width: number; readonly height: number } | undefined {
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8 ':
      return { width: bytes.readUInt16LE(26) & 0x3f_ff, height: bytes.readUInt16LE(28) & 0x3f_ff };
    case 'VP8L': {
      const bits = bytes.readUInt32LE(21);
      return { width: (bits & 0x3f_ff) + 1, height: ((bits >>> 14) & 0x3f_ff) + 1 };
    }
    case 'VP8X':
      return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
    default:
      return undefined;
  }
}

/** The first frame header (ISO 10918-1, B.2.2) has the size. */
function sizeOfJpeg(bytes: Buffer): { readonly width: number; readonly height: number } | undefined {
  for (let at = 2; ; at += 2 + bytes.readUInt16BE(at + 2)) {
    const marker = bytes.readUInt16BE(at);
    if (marker < 0xff_c0 || marker === 0xff_da) return undefined;
    const isFrame = marker <= 0xff_cf && marker !== 0xff_c4 && marker !== 0xff_c8 && marker !== 0xff_cc;
    if (isFrame) return { height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) };
  }
}
