package loop

// onBell does what other goroutines ask for.
func (l *Loop) onBell() {
	l.bell.heard()
	l.takeOrders()
	l.takeBursts()
	if l.grants.Load() > 0 {
		l.takeGrants()
	}
	l.takeTurn()
}

// takeBursts takes in what the handlers have given back by now. What they give back
// meanwhile rings again, and comes when others had their turn.
func (l *Loop) takeBursts() {
	for range l.back.Len() {
		b, ok := l.back.Pop()
		if !ok {
			return
		}
		l.takeBack(b)
	}
}

// takeOrders obeys what the Group, or another loop, asked for.
func (l *Loop) takeOrders() {
	orders := l.orders.Swap(0)
	if orders&orderMakeRoom != 0 {
		for _, c := range l.shared.takeLeaving(l) {
			l.close(c, madeRoom)
		}
	}
	if orders&orderDrain != 0 {
		l.drain()
	}
	if orders&orderStop != 0 {
		l.stop()
	}
}

// order asks the loop for something. Any goroutine may call it.
func (l *Loop) order(bit uint32) {
	l.orders.Or(bit)
	l.bell.ring()
}
