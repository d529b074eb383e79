/** HTTP as raw bytes on a socket. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export interface RawAnswer {
  /** The status of the first line; undefined when there was none. */
  readonly status: number | undefined;
  readonly head: string;
  readonly body: string;
}

/** Connects to the host and port of an address. Errors of the socket are ignored, since the test checks its answer. */
export async function dial(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

/** Resolves with the first answer once it is complete, or with the received part when the connection ends. */
export function readAnswer(socket: Socket): Promise<RawAnswer> {
  return new Promise((resolve) => {
    let text = '';
    const finish = (): void => {
      socket.off('data', read);
      socket.off('close', finish);
      resolve(parse(text));
    };
    const read = (chunk: Buffer): void => {
      text += chunk.toString('latin1');
      const { head, body } = parse(text);
      const length = /\ncontent-length: (\d+)/i.exec(head)?.[1];
      if (head !== '' && length !== undefined && body.length >= Number(length)) finish();
    };
    socket.on('data', read);
    socket.once('close', finish);
  });
}

function parse(text: string): RawAnswer {
  const end = text.indexOf('\r\n\r\n');
  const head = end === -1 ? '' : text.slice(0, end);
  return {
    status: head === '' ? undefined : Number(head.split(' ', 2)[1]),
    head,
    body: end === -1 ? '' : text.slice(end + 4),
  };
}

/** Sends bytes and reads the first answer, on a new socket. */
export async function exchange(url: string, bytes: string | Buffer): Promise<RawAnswer> {
  const socket = await dial(url);
  const answered = readAnswer(socket);
  socket.write(bytes);
  const answer = await answered;
  socket.destroy();
  return answer;
}

/** @param lines the request line and the header lines; Host and the empty line are added. */
export function requestText(url: string, lines: readonly string[], body = ''): string {
  const length = body === '' ? [] : [`content-length: ${Buffer.byteLength(body)}`];
  return `${[lines[0], `host: ${new URL(url).host}`, ...lines.slice(1), ...length].join('\r\n')}\r\n\r\n${body}`;
}
