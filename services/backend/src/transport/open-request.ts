/** A request over Streamable HTTP without an answer. */
import { Link } from '@omnibus/collections';
import type { JsonRpcId } from '@omnibus/protocol';
import type { ResponseReader } from './response-reader.ts';
import { Reconnecting } from './server-words.ts';

export class OpenRequest extends Link {
  readonly id: JsonRpcId;
  reader: ResponseReader | undefined;
  lastEventId: string | undefined;
  readonly reconnecting = new Reconnecting();
  resumptions = 0;
  /** The problem of an unreadable event on its stream, which may have been the answer. */
  unreadable: string | undefined;
  timer: NodeJS.Timeout | undefined;
  /** Whether its response now comes over a GET that resumes the stream; the POST itself was accepted. */
  isResumed = false;

  constructor(id: JsonRpcId) {
    super();
    this.id = id;
  }
}
