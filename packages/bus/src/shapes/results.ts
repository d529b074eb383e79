/** Shapes of stored results. */
import type { OwnedResults, SourceTool, StoredPart, StoredResult } from '@omnibus/protocol';
import { count, fields, list, oneOf, optional, shape, text, token } from './shape.ts';

const part = fields<StoredPart>({ kind: oneOf('text', 'blob'), data: text, mimeType: optional(text) });
const source = fields<SourceTool>({ server: token, tool: text });
export const storedResult = shape<StoredResult>(
  fields<StoredResult>({ server: token, tool: text, from: optional(list(source)), until: count, parts: list(part) }),
);
const owned = fields<OwnedResults['results'][number]>({ id: token, bytes: count, until: count });
export const ownedResults = shape<OwnedResults>(fields<OwnedResults>({ results: list(owned) }));
