import type { Socket, SocketEvents } from '../../core/http/operation.js';
import { LIMITS } from '../../core/kit/limits.js';
import { utf8 } from '../../core/values/json.js';
import { JsonBoundsError, parseJsonText } from '../../core/values/json-bounds.js';
import { changeFrame } from '../../services/streams/frames.js';
import type { CloseReason, FrameSender, Session, Transport } from '../../services/streams/session.js';
import { type ControlDeps, control, sendError } from './control.js';
import { packedChange, packedFrame, unpackFrame } from './packed-frames.js';

export interface SocketOptions {
  /** Frames are MessagePack maps instead of JSON text. */
  binary: boolean;
  compress: boolean;
  /** Makes the session once the way to the client is there; undefined when there are too many. */
  open(transport: Transport): Session | undefined;
  deps: ControlDeps;
}

/** Close codes (RFC 6455, 7.4): going away, policy, too large, try again later. */
const CODES: Record<CloseReason, number> = {
  ClientClosed: 1000,
  ServerShutdown: 1001,
  AdminDisconnect: 1008,
  ControlError: 1008,
  SlowConsumer: 1013,
  SourceUnavailable: 1013,
};
const TOO_MANY = 1013;

/** Frames that a client may send in a second; more of them end the session. */
const CONTROL_PER_SECOND = 200;

/** One WebSocket client: its frames become sessions' controls, and sessions' frames its messages. */
export function streamSocket({ binary, compress, open, deps }: SocketOptions) {
  return (socket: Socket): SocketEvents => {
    const session = open({
      name: 'WebSocket',
      send: (frame) => socket.send(binary ? packedFrame(frame) : frame, compress),
      // A compressed connection has its own compression state.
      ...(compress ? {} : { shared: sharedBy(socket, binary) }),
      together: (send) => socket.together(send),
      close: (reason) => socket.close(CODES[reason], reason),
    });
    if (!session) {
      socket.close(TOO_MANY, 'too many sessions');
      return { message: nothing, drained: nothing, closed: nothing };
    }
    const pace = { second: 0, frames: 0, unanswered: 0 };
    return {
      message(frame, isBinary) {
        if (session.closed) return;
        if (tooFast(pace)) {
          sendError(session, 'invalid-control', `More than ${CONTROL_PER_SECOND} frames came in a second.`);
          return session.close('ControlError');
        }
        pace.unanswered = session.blocked ? pace.unanswered + 1 : 0;
        if (pace.unanswered > LIMITS.streamBuffer) return session.close('SlowConsumer');
        receive(session, frame, isBinary, deps);
      },
      drained: () => session.drained(),
      closed: () => session.close('ClientClosed'),
    };
  };
}

function sharedBy(socket: Socket, binary: boolean): FrameSender {
  return {
    form: binary ? 'MessagePack' : 'JSON',
    frame: binary ? packedChange : changeFrame,
    send: (frame) => socket.send(frame, false),
    publish: (topic, frame) => socket.publish(topic, frame),
    join: (topic) => socket.join(topic),
    leave: (topic) => socket.leave(topic),
    unread: () => socket.unread,
  };
}

const nothing = (): void => undefined;

function tooFast(pace: { second: number; frames: number }): boolean {
  const second = Math.floor(performance.now() / 1000);
  if (pace.second !== second) Object.assign(pace, { second, frames: 0 });
  return ++pace.frames > CONTROL_PER_SECOND;
}

function receive(session: Session, frame: Uint8Array, isBinary: boolean, deps: ControlDeps): void {
  if (frame.byteLength > LIMITS.controlFrameBytes) {
    sendError(session, 'control-frame-too-large', `Frames have at most ${LIMITS.controlFrameBytes} bytes.`);
    return session.close('ControlError');
  }
  let value: unknown;
  try {
    value = isBinary ? unpackFrame(frame) : parseJsonText(utf8(frame), ['filter']);
  } catch (error) {
    if (error instanceof JsonBoundsError)
      return sendError(session, 'invalid-control', `The frame is too complex: ${error.message}.`);
    return sendError(
      session,
      'invalid-json',
      isBinary ? 'The frame is not MessagePack.' : 'The frame is not JSON.',
    );
  }
  control(session, value, deps);
}
