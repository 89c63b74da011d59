/** A DevTools connection of our own: one page, and whatever runs on its behalf (frames of other processes, workers). */

import {setTimeout as sleep} from 'node:timers/promises';

import {Connection} from 'puppeteer-core/internal/cdp/Connection.js';
import {NodeWebSocketTransport} from 'puppeteer-core/internal/node/NodeWebSocketTransport.js';

const COMMAND_LIMIT_MS = 15_000;

/** Connect to the browser that listens at this port. */
export async function connect(port) {
  const answer = await fetch(`http://127.0.0.1:${port}/json/version`);
  const {webSocketDebuggerUrl} = await answer.json();
  const transport = await NodeWebSocketTransport.create(webSocketDebuggerUrl);
  return new Connection(webSocketDebuggerUrl, transport, 0, COMMAND_LIMIT_MS);
}

/** A session with a new, empty page. Returns {session, targetId}. */
export async function openPage(connection) {
  const {targetId} = await connection.send('Target.createTarget', {url: 'about:blank'});
  return {session: await connection.createSession({targetId}), targetId};
}

/**
 * Prepare this session and those of all targets that it opens, before they run anything. Service workers stay where they begin.
 * prepare(session, type) may fail where a target is gone already, or knows less than a page.
 */
export async function attachAll(session, type, prepare) {
  session.on('Target.attachedToTarget', ({sessionId, targetInfo}) => {
    const child = session.connection().session(sessionId);
    if (child && targetInfo.type !== 'service_worker') attachAll(child, targetInfo.type, prepare).catch(() => {});
  });
  try {
    await prepare(session, type);
  } finally { // else what cannot be prepared would stand still for ever, and so would a page that waits for it
    await session.send('Target.setAutoAttach', {autoAttach: true, waitForDebuggerOnStart: true, flatten: true}).catch(() => {});
    await session.send('Runtime.runIfWaitingForDebugger').catch(() => {});
  }
}

/** The promise's value, or `otherwise` if it fails or takes longer. */
export async function within(limit_ms, promise, otherwise = null) {
  return Promise.race([Promise.resolve(promise).catch(() => otherwise), sleep(limit_ms, otherwise, {ref: false})]);
}
