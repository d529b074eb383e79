import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { expect, it } from 'vitest';
import type { WebSocket } from 'ws';
import { ByteBudget } from '../../bounds/byte-budget.ts';
import { boundFrames } from './frames.ts';

it('many small pieces of a message count for the memory that they take, and larger ones for their bytes', () => {
  const budget = new ByteBudget({ maxTotal: 1_000_000, maxShare: 1_000_000 });
  const [webSocket, socket] = [new EventEmitter(), new EventEmitter()];
  boundFrames(webSocket as unknown as WebSocket, socket as unknown as Socket, {
    lease: budget.lease('192.0.2.1'),
    requestMs: 60_000,
    exceeded: ({ message }) => expect.fail(message),
  });
  const receive = (pieces: number, bytes: number): number => {
    for (let piece = 0; piece < pieces; piece += 1) socket.emit('data', Buffer.alloc(bytes));
    return budget.used;
  };
  expect(receive(50, 1)).toBe(50);
  expect(receive(950, 1)).toBeGreaterThan(200_000);
  webSocket.emit('message');
  expect(budget.used).toBe(0);
  expect(receive(500, 1_400)).toBe(700_000);
  webSocket.emit('close');
  expect(budget.used).toBe(0);
});

it('pings of an idle connection count for nothing, however many come', () => {
  const budget = new ByteBudget({ maxTotal: 1_000, maxShare: 1_000 });
  const [webSocket, socket] = [new EventEmitter(), new EventEmitter()];
  boundFrames(webSocket as unknown as WebSocket, socket as unknown as Socket, {
    lease: budget.lease('192.0.2.1'),
    requestMs: 60_000,
    exceeded: ({ message }) => expect.fail(message),
  });
  for (let ping = 0; ping < 1_000; ping += 1) {
    socket.emit('data', Buffer.alloc(6));
    webSocket.emit('ping', Buffer.alloc(0));
  }
  expect(budget.used).toBe(0);
});
